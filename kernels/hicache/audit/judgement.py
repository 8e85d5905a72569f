"""A memory, a formula, and the pools that follow: does what is granted fit?

Owns: the audit's figures and when a memory is over-committed. Does not own: words or exit codes (harness).
Floor 2a. Source: the incident's second bug (facts/sglang.md section 3).

Bytes per token are *under*-counted, so tokens are *over*-granted and memory is *over*-committed. What fills pages up is
kept apart from that: it is no wrong term of the formula, it is a small one that the formula leaves out.
"""

from __future__ import annotations

from dataclasses import dataclass

from kernels.errors import ConfigError
from kernels.hicache.audit.allocation import (
    Failure,
    device_page_counts,
    first_failure,
    one_page_bytes,
    request_rings,
    stored_bytes,
)
from kernels.hicache.audit.costs import SWA_RATIO, Formula, PoolCost, counted_bytes, granted_tokens, pool_costs
from kernels.hicache.audit.rules import OLDER, Rules, WindowPool
from kernels.hicache.geometry import Geometry
from kernels.hicache.sizing import PoolFormats, PoolSize, page_bytes, pool_sizes


@dataclass(frozen=True, slots=True)
class Question:
    """What is to be judged.

    memory_bytes: what the configurator divides among the KV pools.
    tokens: full tokens that a server says it has; None: as many as the formula grants.
    requests: running requests that c128 states are set aside for, first; 0 leaves those states out altogether.
    """

    geometry: Geometry
    formats: PoolFormats
    formula: Formula
    memory_bytes: int
    rules: Rules = OLDER
    swa_ratio: float = SWA_RATIO
    requests: int = 0
    tokens: int | None = None

    @property
    def window(self) -> WindowPool:
        return WindowPool(self.swa_ratio, self.rules.ring_tokens(self.geometry))


@dataclass(frozen=True, slots=True)
class Audit:
    """The answer. All `*_per_token` are bytes per full token over all layers.

    stored_bytes: slots of all pools. padding_bytes: what fills their pages up. failure: the first allocation that does
    not fit where there is not a byte beyond the memory.
    """

    question: Question
    costs: tuple[PoolCost, ...]
    tokens: int
    pools: tuple[PoolSize, ...]
    stored_bytes: int
    padding_bytes: int
    failure: Failure | None

    @property
    def counted_per_token(self) -> float:
        return counted_bytes(self.costs)

    @property
    def stored_per_token(self) -> float:
        return sum(cost.stored_bytes for cost in self.costs)

    @property
    def padding_per_token(self) -> float:
        """Page padding that the formula leaves out."""
        return sum(cost.padding_bytes for cost in self.costs if not cost.counts_padding)

    @property
    def under_count_per_token(self) -> float:
        """What the formula's terms miss; negative where they count more than there is."""
        return sum(cost.under_count_bytes for cost in self.costs)

    @property
    def allocated_bytes(self) -> int:
        return self.stored_bytes + self.padding_bytes

    @property
    def counts_padding(self) -> bool:
        return all(cost.counts_padding for cost in self.costs)

    @property
    def over_commit_bytes(self) -> int:
        """By how much what the formula is about passes the memory: the slots, and page padding where it counts that."""
        meant = self.allocated_bytes if self.counts_padding else self.stored_bytes
        return max(0, meant - self.question.memory_bytes)

    @property
    def beyond_memory_bytes(self) -> int:
        """By how much everything that is allocated passes the memory, page padding too."""
        return max(0, self.allocated_bytes - self.question.memory_bytes)

    @property
    def is_over_committed(self) -> bool:
        return self.over_commit_bytes > 0

    @property
    def request_state_bytes(self) -> int:
        """c128 states set aside for the question's requests."""
        return sum(pool.size_bytes for pool in self.pools if pool.kind == "c128_state")

    @property
    def implied_per_token(self) -> float:
        """What a full token may cost at most, if this many are to fit."""
        return (self.question.memory_bytes - self.request_state_bytes) / self.tokens

    @property
    def request_slot_bytes(self) -> int:
        """c128 states of one running request."""
        geometry = self.question.geometry
        if "c128_state" not in geometry.pool_kinds:
            return 0
        layers = len(geometry.layers_with("c128_state"))
        return layers * page_bytes("c128_state", geometry, self.question.formats)

    @property
    def idle_state_per_token(self) -> float:
        """c4 states that are counted and allocated, but not used: one ring serves a whole page."""
        states = sum(cost.stored_bytes for cost in self.costs if cost.kind in ("c4_state", "index_state"))
        return states * (1 - self.question.window.ring_tokens / self.question.geometry.page_tokens)

    @property
    def reserved_page_bytes(self) -> int:
        """One page of each pool, which SGLang keeps for padded tokens; a constant that no formula counts."""
        return one_page_bytes(self.question.geometry, self.question.formats)


def audit(question: Question) -> Audit:
    """Raises: ConfigError for a memory that does not hold one page of each pool."""
    geometry, formats = question.geometry, question.formats
    costs = pool_costs(geometry, formats, question.formula, question.rules, swa_ratio=question.swa_ratio)
    aside = sum(pool.size_bytes for pool in _request_states(question))
    tokens = question.tokens
    if tokens is None:
        tokens = granted_tokens(max(0, question.memory_bytes - aside), costs, geometry.page_tokens)
    counts = device_page_counts(geometry, tokens, question.window, requests=question.requests)
    empty = [kind for kind, count in counts.items() if count == 0 and kind != "c128_state"]
    if empty:
        beside = f", {aside:,} of them set aside for c128 states," if aside else ""
        raise ConfigError(
            f"a memory of {question.memory_bytes:,} bytes{beside} is less than one page of each pool: {tokens:,} tokens"
            f" of {geometry.name} leave {', '.join(empty)} without a page",
            key="--memory",
            value=question.memory_bytes,
        )
    pools = pool_sizes(geometry, formats, counts)
    stored = stored_bytes(pools, geometry, formats)
    return Audit(
        question=question,
        costs=costs,
        tokens=tokens,
        pools=pools,
        stored_bytes=stored,
        padding_bytes=sum(pool.size_bytes for pool in pools) - stored,
        failure=first_failure(pools, geometry, question.memory_bytes),
    )


def _request_states(question: Question) -> tuple[PoolSize, ...]:
    if not question.requests or "c128_state" not in question.geometry.pool_kinds:
        return ()
    return pool_sizes(question.geometry, question.formats, {"c128_state": request_rings(question.requests)})
