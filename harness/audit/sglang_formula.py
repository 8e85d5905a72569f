"""SGLang's own bytes per full token, pool by pool, read from its source and set against ours.

Owns: what the formula's unknowns stand for, and taking its sum apart. Does not own: reading Python (`evaluator`), our
bytes (`kernels.hicache.audit`). Floor 5. Source: DSV4PoolConfigurator of SGLang 0.5.16 and 0.5.23.

The formula is a sum over layers and over the window pool's ratio. So it is asked about one layer of one kind at a
time, with and without a window, with and without index dimensions: each difference is one pool's term.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from harness.audit.errors import CannotJudgeError
from harness.audit.evaluator import Evaluator, Function, UnreadableError
from harness.audit.sglang_package import FORMULA, SIZES, Package, open_package
from kernels.errors import ConfigError
from kernels.hicache.audit.costs import STATE_POOLS, SWA_RATIO, PoolCost, pool_costs
from kernels.hicache.audit.rules import OLDER
from kernels.hicache.geometry import Geometry, PoolKind
from kernels.hicache.sizing import PoolFormats, slot_bytes

_NOPE, _ROPE, _INDEX = 448, 64, 128
_ALIGNMENT_BYTES = 576
_INDEX_FUNCTION = "get_dsv4_indexer_bytes_per_token"

ASSUMED = "a window pool sized by its ratio, no speculative decoding, no unified or shrunken pools, fp32 states"
"""What the answers to the formula's questions come to, in words."""


class _PagedLayout:
    """SGLang's packed layout of a latent page: nope in fp8, rope in bf16, scales and a pad; whole rows of 576 bytes."""

    readable = ("page_bytes",)

    def page_bytes(self, rows: int) -> int:
        return -(-rows * (_NOPE + 2 * _ROPE + 8) // _ALIGNMENT_BYTES) * _ALIGNMENT_BYTES


@dataclass(frozen=True, slots=True)
class Term:
    """One pool of the formula. sglang_bytes: per full token, over all layers. function: where it is counted."""

    cost: PoolCost
    sglang_bytes: float
    function: Function

    @property
    def kind(self) -> PoolKind:
        return self.cost.kind

    @property
    def under_count_bytes(self) -> float:
        """Slots that are stored and not counted; negative where more is counted than is allocated."""
        missing = self.cost.stored_bytes - self.sglang_bytes
        return missing if missing > 0 else min(0.0, self.cost.allocated_bytes - self.sglang_bytes)

    @property
    def difference_bytes(self) -> float:
        """Allocated, but not counted."""
        return self.cost.allocated_bytes - self.sglang_bytes


@dataclass(frozen=True, slots=True)
class Comparison:
    """SGLang's formula against our pools. entries: bytes that SGLang's own pool gives one index-K entry, by format."""

    version: str
    geometry: Geometry
    formats: PoolFormats
    terms: tuple[Term, ...]
    entries: Mapping[str, int]
    read: tuple[Function, ...]

    @property
    def sglang_bytes(self) -> float:
        return sum(term.sglang_bytes for term in self.terms)

    @property
    def under_count_bytes(self) -> float:
        return sum(max(0.0, term.under_count_bytes) for term in self.terms)

    @property
    def differences(self) -> Sequence[Term]:
        return [term for term in self.terms if abs(term.difference_bytes) > 1e-6]


def compare(path: str, geometry: Geometry, formats: PoolFormats, *, swa_ratio: float = SWA_RATIO) -> Comparison:
    """Raises: ConfigError for a geometry that this formula is not for; CannotJudgeError where it cannot be read."""
    if "c4" not in geometry.pool_kinds:
        what = f"--sglang reads the formula of DeepSeek-V4, and preset '{geometry.name}' has no compressed layers"
        raise ConfigError(what, key="--preset", value=geometry.name)
    package = open_package(path)
    asked = _Asked(package, geometry, is_fp4=formats.index_k == "fp4")
    try:
        by_kind = asked.terms(swa_ratio)
        entries, rows = asked.entries(), asked.state_rows_per_window_token()
    except UnreadableError as problem:
        raise CannotJudgeError(path, [f"this version's formula has another shape: {problem}"]) from problem
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as problem:
        raise CannotJudgeError(path, [f"this version's formula does not work out: {problem!r}"]) from problem
    costs = {cost.kind: cost for cost in pool_costs(geometry, formats, formats.index_k, OLDER, swa_ratio=swa_ratio)}
    for kind in STATE_POOLS & by_kind.keys():
        # How many rings there are is the version's own choice: one for 128 tokens, or one for a page.
        stored = costs[kind].layer_count * swa_ratio * rows * slot_bytes(kind, formats)
        costs[kind] = replace(costs[kind], stored_bytes=stored)
    formula = package.configurator[FORMULA]
    index = package.functions.get(_INDEX_FUNCTION, formula)
    return Comparison(
        version=package.version,
        geometry=geometry,
        formats=formats,
        terms=tuple(
            Term(costs[kind], sglang, index if kind == "index_k" else formula) for kind, sglang in by_kind.items()
        ),
        entries=entries,
        read=tuple(asked.visited.values()),
    )


class _Asked:
    """One version's formula, under questions."""

    def __init__(self, package: Package, geometry: Geometry, *, is_fp4: bool) -> None:
        self._package = package
        self._geometry = geometry
        self._is_fp4 = is_fp4
        self.visited: dict[str, Function] = {}

    def terms(self, swa_ratio: float) -> dict[PoolKind, float]:
        """Every pool's bytes per full token."""
        layers = {kind: len(self._geometry.layers_with(kind)) for kind in self._geometry.pool_kinds}
        nothing = self._bytes()
        c4 = self._bytes(c4=1)
        latent = self._bytes(c4=1, index=0)
        state = self._bytes(c4=1, ratio=1.0, index=0) - latent
        both_states = self._bytes(c4=1, ratio=1.0) - c4
        one: dict[PoolKind, float] = {
            "swa": (self._bytes(total=1, ratio=1.0) - nothing) * swa_ratio,
            "c4": latent - nothing,
            "c128": self._bytes(c128=1) - nothing,
            "index_k": c4 - latent,
            "c4_state": state * swa_ratio,
            "index_state": (both_states - state) * swa_ratio,
        }
        return {kind: layers[kind] * each for kind, each in one.items() if kind in layers}

    def entries(self) -> dict[str, int]:
        """Bytes of one index-K entry in SGLang's own pool."""
        method = "get_bytes_per_token"
        if method not in self._package.indexer_pool:
            return {}
        found = {}
        for name, is_fp4 in (("fp8", False), ("fp4", True)):
            attributes = {"index_head_dim": _INDEX, "use_fp4_indexer": is_fp4}
            evaluator = Evaluator(self._package.indexer_pool, self._package.functions, attributes, {})
            found[name] = int(evaluator.method(method))
            self.visited |= evaluator.visited
        return found

    def state_rows_per_window_token(self) -> float:
        """Rows of a c4 state pool for each token of the window pool, as this version's pools are sized."""
        page = self._geometry.page_tokens
        sizes = self._evaluator(ratio=1.0).method(SIZES, 64 * page, page)
        return float(sizes["c4_state_pool_size"] / sizes["swa_max_total_num_tokens"])

    def _bytes(self, *, total: int = 0, c4: int = 0, c128: int = 0, ratio: float = 0.0, index: int = _INDEX) -> float:
        """The formula's sum for so many layers of each kind."""
        evaluator = self._evaluator(total=total, c4=c4, c128=c128, ratio=ratio, index=index)
        result = float(evaluator.method(FORMULA))
        self.visited |= evaluator.visited
        return result

    def _evaluator(
        self, *, total: int = 0, c4: int = 0, c128: int = 0, ratio: float = 0.0, index: int = _INDEX
    ) -> Evaluator:
        attributes: dict[str, Any] = {
            "qk_nope_head_dim": _NOPE,
            "qk_rope_head_dim": _ROPE,
            "attn_head_dim": _NOPE + _ROPE,
            "indexer_head_dim": index,
            "page_size": self._geometry.page_tokens,
            "swa_page_size": self._geometry.window_tokens,
            "swa_ratio": ratio,
            "swa_cap_tokens": None,
            "operator_swa_ratio": None,
            "c4_shrink_factor": 1,
            "c4_ring_size": 8,
            "c128_ring_size": 128,
            "ring_sizes": {4: 8, 128: 128},
            "num_layers_total": total,
            "num_layers_ca4": c4,
            "num_layers_ca128": c128,
            "stage_owner_layers": {4: range(c4), 128: range(c128)},
            "encoder_replay": False,
            "_unified": False,
        }
        answers: dict[str, Any] = {
            "_is_hip": False,
            "_is_npu": False,
            "envs.SGLANG_OPT_USE_ONLINE_COMPRESS.get()": False,
            "_get_dsv4_compress_state_dtype_sizes()": (4, 4),
            "get_exec().kernel.dsv4_attn_backend": "flashmla",
            "get_exec().kernel.enable_deepseek_v4_fp4_indexer": self._is_fp4,
            "select_dsv4_kv_layout()": (_PagedLayout(), None),
            "resolve_compressed_kv_layout": lambda layout, *_: layout,
            "_DSV4PoolSizes": dict,
        }
        package = self._package
        return Evaluator(package.configurator, package.functions, attributes, answers, package.first)
