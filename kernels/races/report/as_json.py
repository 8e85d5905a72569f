"""The report as plain data, ready for any JSON writer.

Owns: the field names. Floor 2b. The fields that `race --json` and `prove --json` promise: docs/races.md.
"""

from __future__ import annotations

from typing import Any

from kernels.races.detector.race import Race, Side
from kernels.races.report.phrases import mend_place, place_of, site_of
from kernels.races.search.difference import OrderDifference
from kernels.races.search.result import Exploration, Failure, MendCheck, RaceReport
from kernels.substrate.trace import Operation

Plain = dict[str, Any]


def exploration_json(result: Exploration) -> Plain:
    """Everything, with the three verdicts apart."""
    return {
        "program": result.program,
        "program_hash": result.program_hash,
        "verdict": str(result.answer),
        "exhausted": result.exhausted,
        "orders": result.stats.orders,
        "schedules": result.stats.schedules,
        "first_failure": result.stats.first_failure or None,
        "by_strategy": dict(result.stats.by_strategy),
        "budget": result.budget,
        "unordered": result.is_unordered,
        "stale_bytes_observed": result.saw_stale_bytes,
        "output_changed": result.changed_output,
        "races": [race_json(report) for report in result.races],
        "failures": [_failure(failure) for failure in result.failures],
        "masked": [str(masked) for masked in result.masked],
    }


def race_json(report: RaceReport) -> Plain:
    finding = report.group.shown
    race = finding.race
    return {
        "code": str(finding.code),
        "buffer": race.buffer,
        "layer": race.layer,
        "place": place_of(race),
        "intervals": [list(pair) for pair in race.intervals],
        "accesses": [_side(race.first, race), _side(race.second, race)],
        "because": finding.because,
        "wait_to_add": str(finding.mend),
        "wait_at": mend_place(finding) or None,
        "confirmed": report.confirmed,
        "token": str(report.token) if report.token is not None else None,
        "signature": list(race.signature),
        "count": report.group.race_count,
        "layers": list(report.group.layers),
        "mend": _mend(report.mend) if report.mend is not None else None,
        "difference": difference_json(report.difference) if report.difference is not None else None,
    }


def difference_json(difference: OrderDifference) -> Plain:
    """What differs between the failing order and the nearest that passes. Steps are those of each order."""
    return {
        "turned_pairs": [
            {
                "first": pair.first.ordinal,
                "second": pair.second.ordinal,
                "labels": [pair.first.label, pair.second.label],
                "passing_steps": [_steps(pair.first_passing), _steps(pair.second_passing)],
                "failing_steps": [_steps(pair.first), _steps(pair.second)],
            }
            for pair in difference.turned
        ],
        "stale_pages": [{**sight._asdict(), "operation": sight.operation.ordinal} for sight in difference.sights],
    }


def _steps(operation: Operation) -> list[int]:
    return [operation.start_ns, operation.end_ns]


def _side(side: Side, race: Race) -> Plain:
    operation = side.operation
    return {
        "mode": "write" if side.is_write else "read",
        "kind": operation.kind,
        "operation": operation.ordinal,
        "label": operation.label,
        "stream": operation.stream,
        "thread": operation.thread,
        "layer": operation.layer,
        "site": site_of(side, race),
        "launched_at": operation.site,
    }


def _mend(check: MendCheck) -> Plain:
    return {
        "closed": check.is_closed,
        "edges": [edge._asdict() for edge in check.edges],
        "races": check.races,
        "schedules": check.schedules,
        "failures": check.failures,
        "orders": check.orders,
        "exhausted": check.is_exhausted,
        "stuck": check.is_stuck,
        "why_not": check.why or None,
    }


def _failure(failure: Failure) -> Plain:
    return {
        "signature": list(failure.key),
        "token": str(failure.token),
        "strategy": failure.strategy,
        "schedule": failure.schedule,
        "count": failure.count,
        "stale_operations": list(failure.outcome.stale),
        "lost_pages": len(failure.outcome.lost),
        "error": failure.outcome.error or None,
    }
