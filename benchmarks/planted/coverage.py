"""Do the rates' intervals hold the planted rate as often as they say? Over seeded runs, as a run's summary gives them.

Owns: scenes in which the true rate is known, and the counting. Does not own: the intervals (`results/summary`).
Source: ours; the coverage's own interval is Clopper and Pearson's.

Scenes: every turn by itself; a session from some turn on; a whole run that has more or fewer of it (a beta law). The
last one no interval made of a single run can know: its sessions are not independent, as every report says.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.page import Figures
from benchmarks.planted.in_process import PATH, Lane
from harness.planting.dosing import Dose, Dosing, Fate
from harness.planting.faults import FAULTS, Fault
from harness.planting.planter import Planter
from harness.planting.truth import Planted
from results.records import Measured, RunManifest
from results.stats.intervals import clopper_pearson
from results.summary import RunSummary, summarise

RATES = (0.001, 0.01, 0.1)
RUN_CORRELATION = 0.05
"""Of the turns of one run, in the scene of runs that differ."""


@dataclass(frozen=True, slots=True)
class Truth:
    """What is true of the scene at one rate, over all runs: the share of corrupted turns, and of struck sessions."""

    turn_rate: float
    session_rate: float


@dataclass(frozen=True, slots=True)
class Scene:
    """dosing: for a run of the lane, from its rate and seed. truth: at a rate, for sessions of these lengths."""

    name: str
    dosing: Callable[[Lane, float, int], Dosing]
    truth: Callable[[Sequence[int], float], Truth]


class ByRequest(Dosing):
    """A dosing that knows which requests are struck."""

    def __init__(self, fault: Fault, struck: frozenset[bytes], seed: int) -> None:
        super().__init__([Dose(fault, 1.0)], seed)
        self._struck = struck

    def fate(self, body: bytes) -> Fate | None:
        return super().fate(body) if body in self._struck else None


def _each_turn(fault_names: Sequence[str]) -> Callable[[Lane, float, int], Dosing]:
    faults = [FAULTS[name] for name in fault_names]
    return lambda _, rate, seed: Dosing([Dose(fault, rate / len(faults)) for fault in faults], seed)


def _from_a_turn_on(lane: Lane, rate: float, seed: int) -> Dosing:
    """A struck session is corrupt from a turn on, each turn as likely: so half of its turns and a bit more."""
    rng = np.random.default_rng([seed, 17])
    lengths = {plan.session: len(plan.turns) for plan in lane.workload.sessions}
    chance = rate / _mean_struck_share(list(lengths.values()))
    first = {
        session: int(rng.integers(length)) if rng.random() < chance else length for session, length in lengths.items()
    }
    struck = frozenset(one.request.body for one in lane.sound if one.turn.turn >= first[one.turn.session])
    return ByRequest(FAULTS["damaged_arguments"], struck, seed)


def _runs_differ(lane: Lane, rate: float, seed: int) -> Dosing:
    del lane
    strength = 1 / RUN_CORRELATION - 1
    own = float(np.random.default_rng([seed, 18]).beta(rate * strength, (1 - rate) * strength))
    return Dosing([Dose(FAULTS["damaged_arguments"], own)], seed)


def _mean_struck_share(lengths: Sequence[int]) -> float:
    """Of a run's turns, where every session is struck."""
    return sum((length + 1) / 2 for length in lengths) / sum(lengths)


def _truth_each_turn(lengths: Sequence[int], rate: float) -> Truth:
    return Truth(rate, sum(1 - (1 - rate) ** length for length in lengths) / len(lengths))


def _truth_from_a_turn_on(lengths: Sequence[int], rate: float) -> Truth:
    return Truth(rate, rate / _mean_struck_share(lengths))


def _truth_runs_differ(lengths: Sequence[int], rate: float) -> Truth:
    strength = 1 / RUN_CORRELATION - 1
    spared = [
        math.prod((strength * (1 - rate) + turn) / (strength + turn) for turn in range(length)) for length in lengths
    ]
    return Truth(rate, 1 - sum(spared) / len(spared))


_CORRUPTIONS = tuple(name for name, fault in FAULTS.items() if fault.is_corruption)
_CERTAIN = ("damaged_arguments", "lost_call", "wrong_call", "empty_reply")
SCENES = (
    Scene("each turn by itself", _each_turn(_CERTAIN), _truth_each_turn),
    Scene("each turn by itself, all 10 kinds", _each_turn(_CORRUPTIONS), _truth_each_turn),
    Scene("a session from some turn on", _from_a_turn_on, _truth_from_a_turn_on),
    Scene("runs that differ", _runs_differ, _truth_runs_differ),
)


def coverage(lanes: Sequence[Lane], repeats: int, seed: int) -> Figures:
    rows = [_row(scene, lane, rate, repeats, seed) for scene in SCENES for rate in RATES for lane in lanes]
    sizes = " and ".join(f"{len(lane.workload.sessions)} sessions ({len(lane.sound)} turns)" for lane in lanes)
    measured = (
        f"Runs of {sizes}, {repeats} each, seeds {seed} to {seed + repeats - 1}. Both intervals are those of a run's "
        "summary, nominally 95 %: over turns with the session as the cluster, and Clopper and Pearson's over sessions."
    )
    columns = ("corrupted is", "rate", "sessions", "corrupt turns a run", "turns: covered", "95 % of that",
               "width, points", "sessions: true rate", "covered", "95 % of that")  # fmt: skip
    return Figures(columns, tuple(rows), measured)


def _row(scene: Scene, lane: Lane, rate: float, repeats: int, seed: int) -> tuple[str | int, ...]:
    lengths = [len(plan.turns) for plan in lane.workload.sessions]
    truth = scene.truth(lengths, rate)
    turns_hold = sessions_hold = planted_count = 0
    width = 0.0
    for number in range(repeats):
        planted: list[Planted] = []
        planter = Planter(scene.dosing(lane, rate, seed + number), on_planted=planted.append)
        summary = _summary(lane, planter, seed + number)
        planted_count += len(planted)
        turns_hold += summary.turn_ci95[0] <= truth.turn_rate <= summary.turn_ci95[1]
        sessions_hold += summary.session_ci95[0] <= truth.session_rate <= summary.session_ci95[1]
        width += summary.turn_ci95[1] - summary.turn_ci95[0]
    return (
        scene.name, f"{100 * rate:g} %", len(lengths), f"{planted_count / repeats:.1f}",
        *_held(turns_hold, repeats), f"{100 * width / repeats:.2f}", f"{100 * truth.session_rate:.2f} %",
        *_held(sessions_hold, repeats),
    )  # fmt: skip


def _held(hits: int, repeats: int) -> tuple[str, str]:
    of_that = clopper_pearson(hits, repeats)
    return f"{100 * hits / repeats:.1f} %", f"{100 * of_that.low:.1f}-{100 * of_that.high:.1f} %"


def _summary(lane: Lane, planter: Planter, seed: int) -> RunSummary:
    turns, judgements = lane.run(planter)
    manifest = RunManifest(
        seed=seed, scenario="live", backend="live", configuration={"path": PATH}, versions={}, host={},
        git_revision=None, started="", repeat="", session_count=len(lane.workload.sessions), times_are_virtual=False,
    )  # fmt: skip
    return summarise(manifest, turns, judgements, measured=Measured(len(turns), 0.0, "", {}), run_dir="")
