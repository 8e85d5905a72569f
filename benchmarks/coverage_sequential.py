"""Sequential procedures under optional stopping: the error if one looks after every unit and stops when it suits.

Owns: the looks, and the fixed-size procedures that are peeked at beside them. Does not own: the scenes.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from scipy import stats

from benchmarks.coverage_scenes import (
    CORRELATIONS,
    RATES,
    SESSIONS,
    Cell,
    Counts,
    Table,
    draw,
    scene_cells,
    share,
)
from results.stats.always_valid import rate_evidence, rate_sequence
from results.stats.betting import log_capital
from results.stats.intervals import clopper_pearson
from results.stats.sequential import ArmCounts, ArmVerdict, Sequential
from results.stats.sprt import SprtDecision, sprt
from results.stats.symmetry import pair_evidence

_SEEDS = 40
_ALPHA = 0.05
_UNITS = 1_200
_LOOK_EVERY = 10
_STRONG = 0.1
"""Correlation inside the seeds of a campaign: a design effect of 6.9."""
_LOOKS = (*range(2, 16), *range(16, _SEEDS + 1, 4))
"""Seeds after which a campaign is looked at: after each at first, later after every fourth, which is quicker."""


@cache
def _rate_looks(events: int, units: int, rate: float) -> tuple[bool, bool, bool]:
    """At one look: is the rate missed by the sequence, is it missed by Clopper-Pearson, does the e-value reject it."""
    always, fixed = rate_sequence(events, units), clopper_pearson(events, units)
    missed = (not found.low <= rate <= found.high for found in (always, fixed))
    return (*missed, rate_evidence(events, units, rate) >= 1 / _ALPHA)  # type: ignore[return-value]


def rate_looks(rng: np.random.Generator, repeats: int) -> Table:
    """Sessions one by one, a look at every tenth: how often a look is wrong, ever."""
    rows: list[tuple[Cell, ...]] = []
    for rate in RATES:
        for correlation in CORRELATIONS:
            sessions = _session_stream(rng, rate, correlation, repeats)
            totals = np.cumsum(sessions, axis=1)[:, _LOOK_EVERY - 1 :: _LOOK_EVERY]
            ever = np.zeros(3, dtype=np.int64)
            for run in totals.tolist():
                looks = [_rate_looks(events, _LOOK_EVERY * (at + 1), rate) for at, events in enumerate(run)]
                ever += np.any(looks, axis=0)
            rows.append((*scene_cells(rate, correlation), *(share(int(count), repeats) for count in ever)))
    columns = ("rate", "design effect", "rate_sequence", "Clopper-Pearson, peeked at", "rate_evidence")
    return Table("rate-looks", repeats, columns, tuple(rows))


def _session_stream(rng: np.random.Generator, rate: float, correlation: float, repeats: int) -> Counts:
    """[repeat, session] int64 in {0, 1}: seed after seed, the count of each spread at random over its sessions."""
    counts = draw(rng, rate, correlation, _UNITS // SESSIONS, repeats)
    order = np.argsort(rng.random((*counts.shape, SESSIONS)), axis=2)
    return (order < counts[:, :, None]).reshape(repeats, -1).astype(np.int64)


def seed_looks(rng: np.random.Generator, repeats: int) -> Table:
    """Seeds one by one, a look at each from the second on, up to 40: how often a look is wrong, ever."""
    rows: list[tuple[Cell, ...]] = []
    for rate in RATES:
        for correlation in CORRELATIONS:
            first = draw(rng, rate, correlation, _SEEDS, repeats) / SESSIONS
            second = draw(rng, rate, correlation, _SEEDS, repeats) / SESSIONS
            missed = alarms = peeked = 0
            for mine, other in zip(first, second, strict=True):
                looks = range(2, _SEEDS + 1)
                missed += any(log_capital(mine[:look], rate) > -np.log(_ALPHA) for look in looks)
                alarms += max(pair_evidence((mine - other).tolist())) >= 1 / _ALPHA
                peeked += _peeked_t(mine - other)
            cells = (share(count, repeats) for count in (missed, alarms, peeked))
            rows.append((*scene_cells(rate, correlation), *cells))
    columns = ("rate of both arms", "design effect", "mean_sequence", "pair_evidence", "paired t, peeked at")
    return Table("seed-looks", repeats, columns, tuple(rows))


def _peeked_t(differences: np.ndarray) -> bool:
    """Whether a paired t test at 5 % ever says "different"."""
    counts = np.arange(1, len(differences) + 1)
    means = np.cumsum(differences) / counts
    squares = np.cumsum(differences**2)
    with np.errstate(divide="ignore", invalid="ignore"):
        errors = np.sqrt((squares / counts - means**2) / (counts - 1))
        scores = np.abs(means) / errors
    limits = stats.t.ppf(1 - _ALPHA / 2, np.maximum(counts - 1, 1))
    return bool(np.any((scores > limits)[1:]))


def until_decided(rng: np.random.Generator, repeats: int) -> Table:
    """`Sequential` with one or three arms, stopped as soon as it has decided, at the latest after 40 seeds."""
    scenes: tuple[tuple[str, float, tuple[float, ...], float | None], ...] = (
        ("equal arms", 0.05, (0.05, 0.05, 0.05), None),
        ("equal arms", 0.15, (0.15, 0.15, 0.15), None),
        ("15 % against 0", 0.0, (0.15,), None),
        ("5 % against 0", 0.0, (0.05,), None),
        ("15 %, 6 %, 0 against 0", 0.0, (0.15, 0.06, 0.0), None),
        ("15 %, 6 %, 0 against 0", 0.0, (0.15, 0.06, 0.0), 7.0),
        ("0 against 0", 0.0, (0.0,), 7.0),
        ("5 % against 0, claim 5 %", 0.0, (0.05,), 7.0),
    )
    rows: list[tuple[Cell, ...]] = []
    for name, control, arms, known in scenes:
        outcome = [_stopped(rng, control, arms, known) for _ in range(repeats)]
        decided = share(sum(run[0] for run in outcome), repeats)
        middle = f"{np.median([run[1] for run in outcome]):g}"
        wrong = [share(sum(run[at] for run in outcome), repeats) for at in (2, 3)]
        rows.append((name, "none" if known is None else f"{known:g}", decided, middle, *wrong))
    columns = ("arms", "effect assumed", "decided", "median seeds", "false higher or lower", "false bounded")
    return Table("until-decided", repeats, columns, tuple(rows))


def _stopped(
    rng: np.random.Generator, control: float, rates: tuple[float, ...], known: float | None
) -> tuple[bool, int, bool, bool]:
    """One campaign: decided?, after how many seeds, any false direction, any false bound."""
    names = tuple(f"arm{at}" for at in range(len(rates)))
    plan = Sequential("control", names, design_effect=known)
    counts = {name: draw(rng, rate, _STRONG, _SEEDS, 1)[0] for name, rate in zip(names, rates, strict=True)}
    counts["control"] = draw(rng, control, _STRONG, _SEEDS, 1)[0]
    seeds = [{name: ArmCounts(int(hits[at]), SESSIONS) for name, hits in counts.items()} for at in range(_SEEDS)]
    looks = (plan.look(seeds[:count]) for count in _LOOKS)
    last = next((look for look in looks if look.decided), None) or plan.look(seeds)
    truths = {name: rate - control for name, rate in zip(names, rates, strict=True)}
    directed = {ArmVerdict.HIGHER: 1, ArmVerdict.LOWER: -1}
    is_misdirected = any(arm.verdict in directed and truths[arm.arm] * directed[arm.verdict] <= 0 for arm in last.arms)
    is_misbound = any(
        arm.verdict is ArmVerdict.BOUNDED and abs(truths[arm.arm]) >= plan.claim_below for arm in last.arms
    )
    return last.decided, last.seed_count, is_misdirected, is_misbound


def sprt_errors(rng: np.random.Generator, repeats: int) -> Table:
    """Errors and length of the SPRT of 0.5 % against 10 % at 1 % each, up to 400 independent units."""
    rows: list[tuple[Cell, ...]] = []
    for rate in (0.0, 0.005, 0.02, 0.1, 0.15):
        outcomes = (rng.random((repeats, 400)) < rate).tolist()
        found = [sprt(run, sound_rate=0.005, corrupt_rate=0.1) for run in outcomes]
        shares = (share(sum(run.decision is kind for run in found), repeats) for kind in SprtDecision)
        rows.append((f"{100 * rate:g} %", *shares, f"{np.mean([run.units_used for run in found]):.1f}"))
    return Table("sprt", repeats, ("rate", *map(str, SprtDecision), "mean units"), tuple(rows))
