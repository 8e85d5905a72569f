"""What the seeds of one arm come to: the mean of their rates with an interval, and the evidence behind it.

Owns: the figures of one row, and the comparison of two arms over the same seeds. Does not own: intervals and tests
(`results.stats.seeds`), tables. Floor 5.
Source: the seed is the unit, because sessions of one run share prefixes and merged loads.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from harness.search.record import RunRecord, StaleLayerCounts
from results.stats.seeds import PairedDifference, mean_rate, paired_difference

_RESAMPLING_SEED = 22811
"""Permutations and bootstraps of one table are the same on every machine."""


@dataclass(frozen=True, slots=True)
class SeedStatistics:
    """One arm over its seeds. Rates are of corrupted sessions among those that could be judged, by seed.

    rate, low, high: mean over seeds and its 95 % interval; None below two judged seeds (one has no spread).
    seeds_unknown: seeds whose verdict was `unknown`; most often nothing was loaded back, so that 0 proves nothing.
    host_hit_share: turns whose prompt came back from the host tier in part, of all turns.
    prompt_tokens_max: longest prompt of all runs.
    """

    seeds: int
    seeds_judged: int
    seeds_corrupted: int
    seeds_unknown: int
    rate: float | None
    low: float | None
    high: float | None
    method: str
    rate_min: float | None
    rate_max: float | None
    sessions: int
    sessions_corrupted: int
    sessions_primary: int
    sessions_secondary: int
    turns: int
    turns_corrupted: int
    host_hit_share: float | None
    load_backs: int
    loaded_bytes: int
    stale_reads: int
    torn_reads: int
    poisoned_reads: int
    decode_stale_reads: int
    at_rest_mismatches: int
    prompt_tokens_max: int
    kinds: dict[str, int]


def seed_statistics(records: Sequence[RunRecord]) -> SeedStatistics:
    """The row of one arm, from one record a seed."""
    assert len({record.seed for record in records}) == len(records), "one record a seed"
    rates = [record.session_rate for record in records if record.session_rate is not None]
    interval = mean_rate(rates, rng=_rng()) if len(rates) > 1 else None
    kinds = sum((Counter(record.kinds) for record in records), Counter[str]())

    def total(figure: Callable[[RunRecord], int]) -> int:
        return sum(map(figure, records))

    turns = total(lambda record: record.turns)
    return SeedStatistics(
        seeds=len(records),
        seeds_judged=len(rates),
        seeds_corrupted=total(lambda record: record.sessions_corrupted > 0),
        seeds_unknown=total(lambda record: record.verdict == "unknown"),
        rate=sum(rates) / len(rates) if rates else None,
        low=interval.low if interval else None,
        high=interval.high if interval else None,
        method=interval.method if interval else "one seed has no interval",
        rate_min=min(rates, default=None),
        rate_max=max(rates, default=None),
        sessions=total(lambda record: record.sessions),
        sessions_corrupted=total(lambda record: record.sessions_corrupted),
        sessions_primary=total(lambda record: record.sessions_primary),
        sessions_secondary=total(lambda record: record.sessions_secondary),
        turns=turns,
        turns_corrupted=total(lambda record: record.turns_corrupted),
        host_hit_share=total(lambda record: record.host_hit_turns) / turns if turns else None,
        load_backs=total(lambda record: record.load_backs),
        loaded_bytes=total(lambda record: record.loaded_bytes),
        stale_reads=total(lambda record: record.stale_reads),
        torn_reads=total(lambda record: record.torn_reads),
        poisoned_reads=total(lambda record: record.poisoned_reads),
        decode_stale_reads=total(lambda record: record.decode_stale_reads),
        at_rest_mismatches=total(lambda record: record.at_rest_mismatches),
        prompt_tokens_max=max((record.prompt_tokens_max for record in records), default=0),
        kinds=dict(sorted(kinds.items())),
    )


def compare_seeds(first: Sequence[RunRecord], second: Sequence[RunRecord]) -> PairedDifference | None:
    """First minus second over the seeds that both could judge; None where these are fewer than two."""
    others = {record.seed: record.session_rate for record in second}
    pairs = [
        (record.session_rate, other)
        for record in first
        if record.session_rate is not None and (other := others.get(record.seed)) is not None
    ]
    if len(pairs) < 2:
        return None
    return paired_difference([mine for mine, _ in pairs], [other for _, other in pairs], rng=_rng())


def stale_layer_counts(records: Sequence[RunRecord]) -> StaleLayerCounts:
    """Over all runs: layers read too early by a turn's prefill -> judged turns, corrupted turns."""
    judged, corrupted = Counter[int](), Counter[int]()
    for record in records:
        for layers, (turns, turns_corrupted) in record.turns_by_stale_layers.items():
            judged[layers] += turns
            corrupted[layers] += turns_corrupted
    return {layers: (judged[layers], corrupted[layers]) for layers in sorted(judged)}


def _rng() -> np.random.Generator:
    return np.random.default_rng(_RESAMPLING_SEED)
