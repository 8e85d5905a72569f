"""Is each fault found, and called by its right name? By class and rate, over many seeded runs.

Owns: the runs without sockets, their counting, the tables. Does not own: the way through sockets (`over_sockets.py`),
the intervals (`coverage.py`). Source: ours; intervals are Clopper and Pearson's.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from benchmarks.page import Figures
from benchmarks.planted.in_process import Lane
from harness.planting.dosing import Dose, Dosing
from harness.planting.faults import FAULTS, Fault
from harness.planting.found import compare
from harness.planting.planter import Planter
from harness.planting.truth import Planted
from results.findings import Verdict
from results.oracles.divergence import Observed, TurnReplies, judge_divergence
from results.oracles.drift import judge_drift
from results.stats.intervals import clopper_pearson

RATES = (0.001, 0.01, 0.1)


@dataclass(slots=True)
class Cell:
    """One fault at one rate. runs_hit: runs that something was planted in; runs_told: of them, those that say so."""

    planted: int = 0
    found: int = 0
    right: int = 0
    alarms: int = 0
    runs_hit: int = 0
    runs_told: int = 0
    called: Counter[str] = field(default_factory=Counter)


def detection(lane: Lane, repeats: int, seed: int) -> tuple[Figures, Figures]:
    """(by class and rate, what each class was called)."""
    rows: list[tuple[str | int, ...]] = []
    called: dict[str, Counter[str]] = {}
    for fault in (fault for fault in FAULTS.values() if fault.kinds):
        cells = [_cell(lane, fault, rate, repeats, seed) for rate in RATES]
        rows += [_row(fault, rate, cell, repeats) for rate, cell in zip(RATES, cells, strict=True)]
        called[fault.name] = sum((cell.called for cell in cells), Counter())
    turns = len(lane.sound)
    measured = (
        f"Runs of {len(lane.workload.sessions)} sessions and {turns} turns without sockets, seeds {seed} to "
        f"{seed + repeats - 1} for each row; intervals are Clopper and Pearson's."
    )
    columns = ("fault", "class", "rate", "planted turns", "found", "95 %", "right name", "alarms elsewhere",
               "runs hit", "of them told")  # fmt: skip
    return Figures(columns, tuple(rows), measured), _confusion(called, measured)


def _cell(lane: Lane, fault: Fault, rate: float, repeats: int, seed: int) -> Cell:
    cell = Cell()
    for number in range(repeats):
        planted: list[Planted] = []
        planter = Planter(Dosing([Dose(fault, rate)], seed + number), on_planted=planted.append)
        turns, judgements = lane.run(planter)
        named = [(turn.request_id, judged) for turn, judged in zip(turns, judgements, strict=True)]
        comparison = compare(planted, named)
        cell.alarms += len(comparison.alarms)
        for row in comparison.faults.values():
            cell.planted += row.planted
            cell.found += row.found
            cell.right += row.right
            cell.called += row.called
            cell.runs_hit += 1
            cell.runs_told += row.found > 0
    return cell


def _row(fault: Fault, rate: float, cell: Cell, repeats: int) -> tuple[str | int, ...]:
    found, right = (clopper_pearson(count, cell.planted) for count in (cell.found, cell.right))
    bounds = f"{100 * found.low:.1f}-{100 * found.high:.1f} %"
    return (
        fault.name, fault.symptom, f"{100 * rate:g} %", cell.planted, f"{100 * found.estimate:.1f} %", bounds,
        f"{100 * right.estimate:.1f} %", cell.alarms, f"{cell.runs_hit} of {repeats}", cell.runs_told,
    )  # fmt: skip


def _confusion(called: dict[str, Counter[str]], measured: str) -> Figures:
    rows = tuple(
        (name, ", ".join(f"{kind.replace('_', ' ')} {count:,}" for kind, count in counts.most_common()))
        for name, counts in called.items()
    )
    return Figures(("planted", "called"), rows, f"All rates together. {measured}")


def quiet_faults(lane: Lane, repeats: int, seed: int) -> Figures:
    """S9 and S15, which no single turn shows: by comparison with sound runs of the same turns."""
    sound = [Observed(one.turn, one.judgement) for one in lane.sound]
    rows: list[tuple[str | int, ...]] = []
    for name in ("longer", "other_words"):
        for rate in (*RATES, 1.0):
            drifted = differing = expected = alarms = 0
            verdicts: Counter[str] = Counter()
            for number in range(repeats):
                planter = Planter(Dosing([Dose(FAULTS[name], rate)], seed + number))
                turns, judgements = lane.run(planter)
                run = list(map(Observed, turns, judgements))
                alarms += sum(judged.is_corrupted for judged in judgements)
                drift = judge_drift(run, [sound, sound], np.random.default_rng([seed, number]))
                drifted += drift.verdict is Verdict.VIOLATED
                report = judge_divergence(_replies(sound, run))
                differing += report.load_differs
                expected += planter.tally.planted[name]
                verdicts[str(report.verdict)] += 1
            shown = ", ".join(f"{verdict.upper()} {count}" for verdict, count in verdicts.most_common())
            rows.append((name, FAULTS[name].symptom, f"{100 * rate:g} %", repeats, expected, alarms,
                         f"{100 * drifted / repeats:.0f} %", differing, shown))  # fmt: skip
    measured = (
        f"Runs of {len(sound)} turns without sockets, against sound runs of the same turns that say exactly the same "
        f"each time; docs/oracles.md has drift against baselines with noise. Seeds {seed} to {seed + repeats - 1}."
    )
    columns = ("fault", "class", "rate", "runs", "planted turns", "turns called corrupted", "runs with drift found",
               "turns that differ from serial", "verdict of the comparison")  # fmt: skip
    return Figures(columns, tuple(rows), measured)


def _replies(sound: Sequence[Observed], run: Sequence[Observed]) -> list[TurnReplies]:
    return [TurnReplies((one, one), (other,)) for one, other in zip(sound, run, strict=True)]
