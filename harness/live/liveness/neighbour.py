"""How much does a toxic neighbour cost the others? Blocks of time with it and without it, in turns.

Owns: which block is which, and the figure. Does not own: the toxic load (`toxic.py`), the statistics (`results/stats`).
Pure. Floor 5. Source: ours. Two blocks next to each other are a pair, in an order by chance; the pair is the unit, as a
server drifts and its requests share its state. Medians of blocks, and ratios of them, as a few slow replies must not
make the figure.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, log
from typing import Final

import numpy as np

from harness.live.liveness.record import Neighbour
from results.records import TurnRecord
from results.stats.seeds import paired_difference

GUARD_SHARE: Final = 0.2
"""Of each block's beginning: what was sent then still meets the block before."""
_VICTIMS_MIN: Final = 3
_PAIRS_MIN: Final = 2
_PAIRS_DECIDE: Final = 6


@dataclass(frozen=True, slots=True)
class Blocks:
    """is_on: of pair after pair, whether the first of its two blocks has the neighbour."""

    block_s: float
    is_on_first: tuple[bool, ...]

    def is_on(self, number: int) -> bool:
        return self.is_on_first[number // 2] is (number % 2 == 0)

    def place(self, at_s: float) -> tuple[int, bool] | None:
        """Pair and state of an instant; None in a guard, and after the last pair."""
        number = int(at_s // self.block_s)
        if at_s < 0 or number >= 2 * len(self.is_on_first) or at_s - number * self.block_s < GUARD_SHARE * self.block_s:
            return None
        return number // 2, self.is_on(number)


def blocks_of(block_s: float, total_s: float, rng: np.random.Generator) -> Blocks:
    pairs = max(1, int(total_s // (2 * block_s)))
    return Blocks(block_s, tuple(bool(one) for one in rng.integers(0, 2, pairs)))


def neighbour_cost(
    turns: Sequence[TurnRecord], corrupted: frozenset[tuple[int, int]], blocks: Blocks, rng: np.random.Generator, *,
    toxic: str, requests: int, failed_requests: int = 0, ended_s: float, note: str = "",
) -> Neighbour:  # fmt: skip
    """Args: ended_s: of the load; blocks that were cut short are left out. failed_requests: of the neighbour; where all
    of its requests failed, there was none."""
    waits: dict[tuple[int, bool], list[float]] = {}
    failed, spoilt, victims = {True: 0, False: 0}, {True: 0, False: 0}, {True: 0, False: 0}
    for turn in turns:
        place = blocks.place(turn.scheduled_ns / 1e9)
        if place is None or turn.is_aside:
            continue
        pair, is_on = place
        victims[is_on] += 1
        spoilt[is_on] += turn.key in corrupted
        if turn.first_token_ns is None:
            failed[is_on] += 1
            continue
        if (pair + 1) * 2 * blocks.block_s <= ended_s:
            waits.setdefault((pair, is_on), []).append((turn.first_token_ns - turn.scheduled_ns) / 1e6)
    medians = {place: float(np.median(found)) for place, found in waits.items() if len(found) >= _VICTIMS_MIN}
    pairs = [pair for pair, is_on in medians if is_on and (pair, False) in medians]
    on, off = [medians[pair, True] for pair in pairs], [medians[pair, False] for pair in pairs]
    if requests and failed_requests == requests:
        on = off = []
    ratio, low, high, p, doubt = _ratio(on, off, rng)
    return Neighbour(
        toxic=toxic, block_s=blocks.block_s, pairs=len(pairs), victims_on=victims[True], victims_off=victims[False],
        ttft_on_ms=round(float(np.median(on)), 3) if on else None,
        ttft_off_ms=round(float(np.median(off)), 3) if off else None, ratio=ratio, low=low, high=high, p=p,
        failed_on=failed[True], failed_off=failed[False], corrupted_on=spoilt[True], corrupted_off=spoilt[False],
        requests=requests, note="; ".join(one for one in (note, doubt) if one),
    )  # fmt: skip


def _ratio(
    on: Sequence[float], off: Sequence[float], rng: np.random.Generator
) -> tuple[float | None, float | None, float | None, float | None, str]:
    if len(on) < _PAIRS_MIN:
        few = (
            f"{len(on)} whole pairs of blocks have at least {_VICTIMS_MIN} first tokens each, and it takes {_PAIRS_MIN}"
        )
        return None, None, None, None, f"{few}; run longer, or with a shorter --toxic-block"
    found = paired_difference([log(max(one, 1e-3)) for one in on], [log(max(one, 1e-3)) for one in off], rng=rng)
    interval = found.interval_t
    doubt = f"fewer than {_PAIRS_DECIDE} pairs cannot decide anything" if len(on) < _PAIRS_DECIDE else ""
    return exp(found.difference), exp(interval.low), exp(interval.high), found.p_permutation, doubt
