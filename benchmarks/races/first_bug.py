"""Schedules to the first bug, by search: twelve programs, twenty trials each, censored at a budget.

Owns: the trials, their statistics, benchmarks/results/races/first_bug.json and the tables of docs/race-measurements.md.
Does not own: programs, searches, survival statistics (`results.stats`). Run it with

    python -m benchmarks.races.first_bug
    python -m benchmarks.races.first_bug --trials 5 --budget 100 --no-save

Searches without chance are run twice, and must agree; they have one figure and no test. Samplers have the median by
Kaplan-Meier; its 95 % interval is that of order statistics, which holds because all trials have the same budget. Each
is compared with random walk by log-rank; all these comparisons are named before, and adjusted together (Holm).
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from math import inf

from scipy import stats

from benchmarks.page import Figures
from benchmarks.races.catalogue import Case, cases
from benchmarks.races.stored import machine, save, table
from benchmarks.races.trials import BASELINE, SAMPLERS, Trial, exhaustive_trial, flip_trial, race_trial, sampling
from results.stats.holm import Comparison, holm
from results.stats.intervals import LEVEL
from results.stats.survival import kaplan_meier, log_rank

FIXED = {"detect, then flip": flip_trial, "all orders": exhaustive_trial, "as `race` does": race_trial}
SEED = 22_811
NAME = "first_bug"
TRIALS_MIN = 6


@dataclass(frozen=True, slots=True)
class Row:
    """One search on one program. median, low, high: None where that share of the trials found nothing.

    comparison: with random walk; None for that itself, and for searches without chance.
    """

    program: str
    search: str
    schedules: tuple[int, ...]
    found: int
    trials: int
    median: float | None
    low: float | None
    high: float | None
    restricted_mean: float
    comparison: Comparison | None = None
    is_sooner: bool = False


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=20)
    parser.add_argument("--budget", type=int, default=1_000, help="schedules of a trial, at most")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--program", help="only programs whose name contains this")
    parser.add_argument("--no-save", action="store_true", help="print only")
    given = parser.parse_args()
    if given.trials < TRIALS_MIN or given.budget < 2:
        parser.error(f"--trials must be {TRIALS_MIN} or more (fewer have no 95 % interval), --budget 2 or more")
    chosen = [case for case in cases() if given.program is None or given.program in case.name]
    if not chosen:
        parser.error(f"no program is called '{given.program}'; there are: {', '.join(case.name for case in cases())}")
    load_before = os.getloadavg()[0]
    print(f"seeds {given.seed} to {given.seed + given.trials - 1}; censored at {given.budget:,} schedules")
    rows = adjusted([row for case in chosen for row in rows_of(case, given.trials, given.budget, given.seed)])
    for row in rows:
        print(f"{row.program:<20}{row.search:<22}{cell(row, given.budget):<28}{verdict(row)}")
    if given.no_save or given.program is not None:
        return 0
    command = " ".join(["python -m benchmarks.races.first_bug", *sys.argv[1:]])
    save(NAME, {**machine(command, load_before), **vars(given), "rows": [asdict(row) for row in rows]})
    tables = {"first-bug-programs": faults(chosen), "first-bug": by_program(rows, given.budget)}
    table({**tables, "first-bug-tests": by_search(rows)})
    return 0


def rows_of(case: Case, trials: int, budget: int, seed: int) -> list[Row]:
    """Every search on one program."""
    rows: list[Row] = []
    for name, search in FIXED.items():
        pair = [search(case.broken, budget) for _ in range(2)]
        assert pair[0] == pair[1], f"{case.name}: {name} has no chance in it, and found {pair}"
        rows.append(_row(case.name, name, pair[:1]))
    for name in SAMPLERS:
        trial = sampling(case.broken, name)
        rows.append(_row(case.name, name, [trial(seed + index, budget) for index in range(trials)]))
        print(f"  {case.name}: {name} done", file=sys.stderr)
    return rows


def _row(program: str, search: str, trials: Sequence[Trial]) -> Row:
    times, found = [one.schedules for one in trials], [one.is_found for one in trials]
    curve = kaplan_meier(times, found)
    low, high = median_interval(trials) if len(trials) > 1 else (curve.median, curve.median)
    return Row(program, search, tuple(times), sum(found), len(trials), curve.median, low, high, curve.restricted_mean)


def median_interval(trials: Sequence[Trial]) -> tuple[float | None, float | None]:
    """The order statistics between which the median lies with 95 % at least, whatever the distribution.

    Holds because all trials are censored at one budget: a trial that found nothing is beyond every one that did, and
    beyond the budget, which is what None says.
    """
    times = sorted(float(one.schedules) if one.is_found else inf for one in trials)
    # How many trials lie below the median is binomial: at most half of the error is left on each side.
    rank = int(stats.binom.ppf((1 - LEVEL) / 2, len(times), 0.5))
    assert rank > 0, f"{len(times)} trials have no interval at {LEVEL}"
    low, high = times[rank - 1], times[len(times) - rank]
    return (None if low == inf else low), (None if high == inf else high)


def adjusted(rows: Sequence[Row]) -> list[Row]:
    """Compare every sampler with random walk on the same program, and adjust all these comparisons together."""
    walks = {row.program: row for row in rows if row.search == BASELINE}
    tested = [row for row in rows if row.search in SAMPLERS and row.search != BASELINE]
    p_values = {_name(row): log_rank(_times(row), _times(walks[row.program])).p for row in tested}
    found = {one.name: one for one in holm(list(p_values), p_values)}
    return [
        replace(
            row,
            comparison=found.get(_name(row)),
            is_sooner=row.restricted_mean < walks[row.program].restricted_mean,
        )
        for row in rows
    ]


def _name(row: Row) -> str:
    return f"{row.program}: {row.search} against {BASELINE}"


def _times(row: Row) -> tuple[list[float], list[bool]]:
    """As survival data. The trials that found nothing ended at the budget, and were the last to end."""
    ordered = sorted(row.schedules)
    return [float(one) for one in ordered], [index < row.found for index in range(row.trials)]


# Tables.


def verdict(row: Row) -> str:
    """What the comparison with random walk says, in a word or two."""
    if row.comparison is None:
        return ""
    if not row.comparison.is_rejected:
        return f"no difference (p {row.comparison.p_adjusted:.2g})"
    return f"{'sooner' if row.is_sooner else 'later'} (p {row.comparison.p_adjusted:.1g})"


def cell(row: Row, budget: int) -> str:
    """Median and interval, how many trials found it where not all did, and + or - for sooner or later."""
    if row.trials == 1:
        return f"{row.schedules[0]:,}" if row.found else "not found"
    text = f"{_count(row.median, budget)} ({_count(row.low, budget)} to {_count(row.high, budget)})"
    if row.found < row.trials:
        text += f", {row.found}/{row.trials}"
    if row.comparison is not None and row.comparison.is_rejected:
        text += " +" if row.is_sooner else " -"
    return text


def _count(schedules: float | None, budget: int) -> str:
    return f">{budget:,}" if schedules is None else f"{schedules:,.0f}"


def faults(chosen: Sequence[Case]) -> Figures:
    rows = tuple((case.fault, case.name) for case in chosen)
    return Figures(("fault", "called"), rows, "`benchmarks/races/catalogue.py`")


def by_program(rows: Sequence[Row], budget: int) -> Figures:
    """One line a program, one column a search."""
    searches, programs = dict.fromkeys(row.search for row in rows), dict.fromkeys(row.program for row in rows)
    cells = {(row.program, row.search): cell(row, budget) for row in rows}
    return Figures(
        ("program", *searches),
        tuple((name, *(cells[name, search] for search in searches)) for name in programs),
        f"Median schedules to the first failure (95 % interval); censored at {budget:,}. `+` sooner, `-` later than "
        f"{BASELINE}: log-rank, Holm over all comparisons, 5 %. `python -m benchmarks.races.first_bug`",
    )


def by_search(rows: Sequence[Row]) -> Figures:
    """One line a search: over all programs."""
    lines: list[tuple[str | int, ...]] = []
    for search in dict.fromkeys(row.search for row in rows):
        own = [row for row in rows if row.search == search]
        tested = [row for row in own if row.comparison is not None and row.comparison.is_rejected]
        sooner = sum(row.is_sooner for row in tested)
        has_tests = any(row.comparison is not None for row in own)
        lines.append(
            (
                search,
                f"{sum(row.found for row in own)} of {sum(row.trials for row in own)}",
                f"{sum(row.found == row.trials for row in own)} of {len(own)}",
                sooner if has_tests else "",
                len(tested) - sooner if has_tests else "",
            )
        )
    return Figures(
        ("search", "trials that found it", "programs always found", "sooner", "later"),
        tuple(lines),
        f"Sooner, later: programs on which the search differs from {BASELINE}. `python -m benchmarks.races.first_bug`",
    )


if __name__ == "__main__":
    sys.exit(main())
