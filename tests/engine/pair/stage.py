"""A serving pair on a virtual machine, small enough to be full.

Owns: building the pair, asking it, and what must hold whenever it is at rest. Does not own: texts (`talks`), or any
expectation of a test. Floor: tests. Source: ours.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from kernels.engine.evidence import RequestEvidence
from kernels.engine.pair import METADATA_ROWS, PairSpec, ServingPair
from kernels.engine.request import FinishReason, GenerateRequest, Scores, Usage
from kernels.engine.shared import SharedModel
from kernels.engine.spec import DecodeSpec, PrefillSpec
from kernels.hicache.geometry import Geometry, preset
from kernels.hicache.invariants import check
from kernels.hicache.paths import TransferPath
from kernels.hicache.sizing import IndexFormat, PoolFormats
from kernels.hicache.spec import HiCacheSpec, WritePolicy
from kernels.hicache.variant import Variant
from kernels.substrate.cost import CostModel
from kernels.substrate.cost_file import load_cost_model, with_override
from kernels.substrate.delays import parse_delay
from kernels.substrate.trace import DigestTrace, MemoryTrace, Tee
from kernels.substrate.virtual.invariants import check_invariants
from kernels.substrate.virtual.machine import VirtualMachine
from tests.engine.pair.talks import Talk

FLASH = preset("deepseek-v4-flash")
PAGE = FLASH.page_tokens
LATE = "h2d.index_k=constant:2ms"
"""Holds every layer's index-K back for longer than its layer computes, so that a bare read finds none of it."""

BARE = Variant(gate_index_k=False)
GATED = Variant()
MASKED = Variant(gate_index_k=False, index_k_store="fused")

HALVES = ("prefill", "decode")


@dataclass(slots=True, eq=False)
class Heard:
    """One half's answer, as its sink got it."""

    pieces: list[bytes] = field(default_factory=list)
    times_ns: list[int] = field(default_factory=list)
    ends: list[tuple[FinishReason, Usage, int, str]] = field(default_factory=list)
    scores: list[Scores] = field(default_factory=list)

    def on_text(self, text: bytes, t_ns: int, scores: Scores | None = None) -> None:
        assert not self.ends, f"text {text!r} after the end {self.ends}"
        if scores is not None:
            self.scores.append(scores)
        self.pieces.append(text)
        self.times_ns.append(t_ns)

    def on_finish(self, reason: FinishReason, usage: Usage, t_ns: int, message: str = "") -> None:
        self.ends.append((reason, usage, t_ns, message))

    @property
    def text(self) -> str:
        return b"".join(self.pieces).decode(errors="replace")

    @property
    def end(self) -> tuple[FinishReason, Usage, int, str]:
        assert len(self.ends) == 1, self.ends
        return self.ends[0]

    @property
    def reason(self) -> FinishReason:
        return self.end[0]

    @property
    def usage(self) -> Usage:
        return self.end[1]


@dataclass(frozen=True, slots=True, eq=False)
class Asked:
    """One request and what came of it. right: the planted answer."""

    request: GenerateRequest
    right: str
    heard: Mapping[str, Heard]

    @property
    def prefill(self) -> Heard:
        return self.heard["prefill"]

    @property
    def decode(self) -> Heard:
        return self.heard["decode"]

    @property
    def is_right(self) -> bool:
        """The reply is the planted one and nothing else."""
        return self.decode.reason == "stop" and self.decode.text == self.right


@dataclass(frozen=True, slots=True)
class Setting:
    """What tests vary. layer_us: compute time of a layer, whatever its tokens."""

    variant: Variant = BARE
    delays: tuple[str, ...] = (LATE,)
    geometry: Geometry = FLASH
    device_pages: int = 48
    host_pages: int = 400
    decode_pages: int = 200
    index_k: IndexFormat = "bf16"
    policy: WritePolicy = "write_through"
    path: TransferPath = field(default_factory=lambda: TransferPath("layer_first", "kernel"))
    batch_max: int = 8
    chunk_tokens: int = 16_384
    decode_batch_max: int = 16
    tp: int = 1
    seed: int = 0
    jitter: float = 0.05
    layer_us: float = 100.0

    def cost(self) -> CostModel:
        model = load_cost_model()
        numbers = {
            "compute.fixed": self.layer_us,
            "compute.new_token": 0.0,
            "jitter.copy": self.jitter,
            "jitter.compute": self.jitter,
        }
        for key, value in numbers.items():
            model = with_override(model, key, value)
        return model

    def pair_spec(self) -> PairSpec:
        page_tokens = self.geometry.page_tokens
        return PairSpec(
            geometry=self.geometry,
            cache=HiCacheSpec(
                device_tokens=self.device_pages * page_tokens,
                host_tokens=self.host_pages * page_tokens,
                formats=PoolFormats(index_k=self.index_k),
                policy=self.policy,
                path=self.path,
            ),
            variant=self.variant,
            prefill=PrefillSpec(
                batch_max=self.batch_max, chunk_tokens=self.chunk_tokens, step_ns=100_000, head_start_ns=0
            ),
            decode=DecodeSpec(batch_max=self.decode_batch_max, step_ns=1_000_000),
            decode_tokens=self.decode_pages * page_tokens,
            tp=self.tp,
        )


class Stage:
    """One pair on one machine, with everything that it did on record."""

    def __init__(self, shared: SharedModel, setting: Setting | None = None, **changes: Any) -> None:
        """changes: fields of `Setting`, on top of `setting`."""
        self.setting = setting = replace(setting or Setting(), **changes)
        self.trace = MemoryTrace()
        self._digest = DigestTrace()
        cost = setting.cost()
        self.machine = VirtualMachine(
            cost,
            seed=setting.seed,
            delays=[parse_delay(text) for text in setting.delays],
            trace=Tee((self.trace, self._digest)),
        )
        self.pair = ServingPair(self.machine, cost, setting.pair_spec(), shared)
        self.asked: list[Asked] = []

    @property
    def digest(self) -> str:
        return self._digest.hexdigest()

    def submit(self, talk: Talk, name: str, *, max_new_tokens: int = 64, halves: Sequence[str] = HALVES) -> Asked:
        """Hand a request over; nothing happens before time goes on."""
        return self.submit_messages(talk.asking(name), talk.facts[name], max_new_tokens=max_new_tokens, halves=halves)

    def submit_messages(
        self,
        messages: Sequence[Mapping[str, Any]],
        right: str,
        *,
        max_new_tokens: int = 64,
        halves: Sequence[str] = HALVES,
    ) -> Asked:
        number = len(self.asked)
        request = GenerateRequest(
            request_id=f"r{number}",
            order=(number,),
            room=1_000 + number,
            messages=messages,
            tools=(),
            max_new_tokens=max_new_tokens,
        )
        asked = Asked(request, right, {half: Heard() for half in halves})
        self.asked.append(asked)
        for half in halves:
            self.submit_half(asked, half)
        return asked

    def submit_half(self, asked: Asked, half: str) -> None:
        engine = self.pair.prefill if half == "prefill" else self.pair.decode
        engine.submit(asked.request, asked.heard[half])

    def ask(self, talk: Talk, name: str, *, max_new_tokens: int = 64) -> Asked:
        """One request by itself, to its end, and the pair at rest after it."""
        asked = self.submit(talk, name, max_new_tokens=max_new_tokens)
        self.settle()
        return asked

    def abort(self, asked: Asked, halves: Sequence[str] = HALVES) -> None:
        for half in halves:
            engine = self.pair.prefill if half == "prefill" else self.pair.decode
            engine.abort(asked.request.request_id)

    def run_ns(self, duration_ns: int) -> None:
        self.machine.advance_to(self.machine.now_ns + duration_ns)

    def run_until(self, is_so: Callable[[], bool]) -> None:
        """Let single instants pass until something is so."""
        while not is_so():
            due_ns = self.machine.next_time_ns()
            assert due_ns is not None, f"it never was: {self.pair.prefill}, {self.pair.decode}"
            self.machine.advance_to(due_ns)

    def settle(self) -> None:
        """Let everything happen that is going to, and check that nothing is left over."""
        self.machine.run()
        self.check_at_rest()

    def evidence(self, asked: Asked) -> RequestEvidence:
        found = self.pair.evidence(asked.request.request_id)
        assert found is not None
        return found

    def set_gate(self, variant: Variant) -> None:
        """Switch the variant on a running pair, which no configuration can."""
        for forward in self.pair.prefill._forwards:
            forward._access.variant = variant

    def set_chunk(self, chunk_tokens: int) -> None:
        batcher = self.pair.prefill._batcher
        batcher._spec = replace(batcher._spec, chunk_tokens=chunk_tokens)

    def check_at_rest(self) -> None:
        """Nothing runs, waits, is held, was lost or differs between the tiers."""
        check_invariants(self.machine)
        assert not any(stream.queued for stream in self.machine.streams), self.machine.blocked()
        cache = self.pair.cache
        check(cache)
        assert cache.is_idle, cache
        assert cache.leases == {}, cache
        assert all(node.lock_ref == node.host_ref == 0 for node in cache.tree.nodes()), cache.tree
        assert cache.statistics.at_rest_mismatches == 0, cache.statistics
        prefill, decode = self.pair.prefill, self.pair.decode
        assert (len(prefill._batcher), prefill._computing, prefill._sending) == (0, None, []), prefill
        assert decode.flush_cache(), decode
        assert decode._allocator.free_pages == self.setting.decode_pages, decode
        assert decode._rows._free.free_pages == METADATA_ROWS, "a metadata row was not given back"
        for asked in self.asked:
            for half in asked.heard.values():
                assert len(half.ends) == 1, (asked.request.request_id, half.ends)
            assert self.evidence(asked).decode_stale_reads == 0, asked.request.request_id
        if all(len(asked.heard) == len(HALVES) for asked in self.asked):
            assert prefill._bootstrap._rooms == {}, prefill._bootstrap
