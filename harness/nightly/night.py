"""One night from lock to verdict.

Owns: the order of things, what is skipped for want of time, the verdict. Does not own: checks (`checks`), comparisons
(`regression`), files (`folder`, `history`), reports (`reports`). Floor 5.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import msgspec

from harness.nightly.budget import Budget, span_text
from harness.nightly.checks.contract import Check, NightContext
from harness.nightly.clock import NightClock
from harness.nightly.config import NightlyConfig
from harness.nightly.folder import new_night, prune_runs, read_baseline, unrecorded_nights, write_night
from harness.nightly.history import HISTORY, NightRow, append_line, read_history, row_of, usual_wall_s
from harness.nightly.lock import only_night
from harness.nightly.record import BaselineComparison, CheckResult, NightRecord, NightVerdict, Status
from harness.nightly.regression import compare_with, comparison_names
from harness.nightly.reports import write_reports
from harness.search.matrix_figures import seeds_that_decide
from harness.search.source import source_fingerprint
from harness.simulation import provenance
from results.report.words import listed, plural


@dataclass(frozen=True, slots=True)
class NightRequest:
    """What to do. home: folder of all nights. budget_s: of this one. on_line: hears what is going on."""

    config: NightlyConfig
    home: Path
    budget_s: float
    worker_count: int
    checks: Sequence[Check]
    clock: NightClock
    on_line: Callable[[str], None] = lambda _: None


@dataclass(frozen=True, slots=True)
class Night:
    """A night that has ended. reports: paths by format."""

    folder: Path
    record: NightRecord
    reports: dict[str, Path]


def run_night(request: NightRequest) -> Night:
    """Run the checks of one night, compare, and write everything down.

    Effect: a folder under `nights/`, one line of the history; the baseline is only read. On Ctrl-C the rest is skipped,
    and what was done is written down as partial.
    Raises: NightUnderWay, NotANight or NewerRun for a baseline that cannot be read, StorageProblem.
    """
    began = request.clock.utc_now()
    with only_night(request.home, began):
        baseline = read_baseline(request.home)
        rows, faults = read_history(request.home)
        lost = unrecorded_nights(request.home, [row.night for row in rows])
        folder = new_night(request.home, began)
        budget = Budget(request.budget_s, request.clock)
        results, is_partial = _run_checks(request, folder, budget, rows)
        names = comparison_names(request.config.matrix.arms, request.config.night.checks)
        comparisons = compare_with(baseline, results, names) if baseline is not None else []
        record = _record(request, folder.name, began, budget, baseline, results, comparisons, is_partial=is_partial)
        write_night(folder, record)
        append_line(request.home / HISTORY, row_of(record))
        for night in prune_runs(request.home, request.config.night.keep_nights):
            request.on_line(f"removed the single runs of night {night}; its records and reports stay")
        lines = [f"history: {fault}" for fault in faults]
        lines += [f"night {name} has left no record: it was killed while it ran" for name in lost]
        reports = write_reports(request.home, folder, record, [*rows, row_of(record)], lines)
        return Night(folder, record, reports)


def _run_checks(
    request: NightRequest, folder: Path, budget: Budget, rows: Sequence[NightRow]
) -> tuple[list[CheckResult], bool]:
    """The outcome of every configured check, and whether Ctrl-C ended the night early."""
    context = NightContext(
        config=request.config,
        folder=folder,
        clock=request.clock,
        left_s=lambda: budget.left_s,
        worker_count=request.worker_count,
        on_line=request.on_line,
    )
    chosen = {check.name: check for check in request.checks}
    results: list[CheckResult] = []
    is_interrupted = False
    for name in request.config.night.checks:
        why = "the night was interrupted" if is_interrupted else _no_time(name, budget, rows)
        if why is not None:
            results.append(CheckResult(name, Status.SKIPPED, why))
            continue
        request.on_line(f"{name}: begins, {span_text(budget.left_s)} left")
        try:
            results.append(chosen[name].run(context))
        except KeyboardInterrupt:
            is_interrupted = True
            results.append(CheckResult(name, Status.UNKNOWN, "it was interrupted"))
        request.on_line(f"{name}: {results[-1].status}, {results[-1].sentence}")
        is_interrupted |= context.is_interrupted
    return results, is_interrupted


def _no_time(name: str, budget: Budget, rows: Sequence[NightRow]) -> str | None:
    usual_s = usual_wall_s(rows, name)
    if budget.left_s <= 0:
        return f"no time: the budget of {span_text(budget.total_s)} is used up"
    if usual_s is not None and usual_s > budget.left_s:
        return f"no time: it took {span_text(usual_s)} before, and {span_text(budget.left_s)} are left"
    return None


def _record(
    request: NightRequest,
    name: str,
    began: datetime,
    budget: Budget,
    baseline: NightRecord | None,
    results: Sequence[CheckResult],
    comparisons: Sequence[BaselineComparison],
    *,
    is_partial: bool,
) -> NightRecord:
    verdict, sentence = night_verdict(results, comparisons, has_baseline=baseline is not None)
    return NightRecord(
        night=name,
        started=began.isoformat(timespec="seconds"),
        finished=request.clock.utc_now().isoformat(timespec="seconds"),
        partial=is_partial,
        budget_s=request.budget_s,
        wall_s=round(budget.spent_s, 3),
        source=source_fingerprint(),
        git_revision=provenance.git_revision(),
        versions=provenance.versions(),
        host=provenance.host_facts(),
        config=msgspec.json.decode(msgspec.json.encode(request.config)),
        baseline=None if baseline is None else baseline.night,
        checks=tuple(results),
        comparisons=tuple(comparisons),
        verdict=verdict,
        sentence=sentence,
        notes=tuple(_notes(request, baseline, results)),
    )


def night_verdict(
    results: Sequence[CheckResult], comparisons: Sequence[BaselineComparison], *, has_baseline: bool
) -> tuple[NightVerdict, str]:
    """A regression weighs more than what could not be judged; what did not run is never a pass."""
    parts: list[CheckResult | BaselineComparison] = [*results, *comparisons]
    bad = [f"{part.name}: {part.sentence}" for part in parts if part.status is Status.REGRESSION]
    if bad:
        more = f" (and {len(bad) - 1} more)" if len(bad) > 1 else ""
        return NightVerdict.REGRESSION, f"{bad[0]}{more}"
    open_parts = [part for part in parts if part.status in (Status.UNKNOWN, Status.SKIPPED)]
    if open_parts:
        first, names = open_parts[0], [part.name for part in open_parts[1:]]
        also = f"; also without a verdict: {listed(names)}" if names else ""
        why = f"{first.name} was {'skipped' if first.status is Status.SKIPPED else 'not judged'} ({first.sentence})"
        return NightVerdict.UNKNOWN, f"no regression found, but {why}{also}"
    against = f"{plural(len(comparisons), 'comparison')} with the baseline" if has_baseline else "no baseline yet"
    return NightVerdict.OK, f"{plural(len(results), 'check')} passed, {against}"


def _notes(request: NightRequest, baseline: NightRecord | None, results: Sequence[CheckResult]) -> list[str]:
    notes = []
    if baseline is None:
        notes.append(
            "No baseline yet: judged by what the scenarios expect alone. `python run.py nightly accept FOLDER` accepts"
            " this night; it never happens by itself."
        )
    elif baseline.host != provenance.host_facts():
        notes.append("The baseline was made on another kind of machine; times are compared as yardsticks.")
    names = comparison_names(request.config.matrix.arms, request.config.night.checks)
    matrix = next((result.matrix for result in results if result.matrix is not None), None)
    enough = seeds_that_decide(len(names))
    if matrix is not None and len(matrix.seeds) < enough:
        seeds = plural(len(matrix.seeds), "seed")
        notes.append(
            f"{seeds} cannot show a difference from the baseline: with {len(names)} comparisons it takes {enough}."
        )
    return notes
