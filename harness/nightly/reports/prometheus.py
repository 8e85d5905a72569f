"""A night as Prometheus text, for node_exporter's textfile collector or a push gateway.

Owns: names and labels of the gauges. A figure that is not known has no sample: a dashboard must not read it as zero.
Floor 5. Source: prometheus_client; naming after the Prometheus conventions.
"""

from __future__ import annotations

from datetime import datetime

from prometheus_client import CollectorRegistry, Gauge, generate_latest

from harness.nightly.checks.speed import RATIOS, WALL
from harness.nightly.record import NightRecord, NightVerdict, Status
from results.matrix.record import MatrixRecord


def render_prometheus(record: NightRecord) -> str:
    """One snapshot of the night."""
    registry = CollectorRegistry()
    _night(registry, record)
    _checks(registry, record)
    if record.matrix is not None:
        _arms(registry, record.matrix)
    return generate_latest(registry).decode()


def _night(registry: CollectorRegistry, record: NightRecord) -> None:
    verdict = Gauge("kvrace_nightly_verdict", "1 for the verdict of the night.", ("verdict",), registry=registry)
    for one in NightVerdict:
        verdict.labels(one).set(record.verdict is one)
    _set(registry, "kvrace_nightly_partial", "1 where the night was interrupted.", float(record.partial))
    ended_s = datetime.fromisoformat(record.finished).timestamp()
    _set(registry, "kvrace_nightly_finished_timestamp_seconds", "When the night ended.", ended_s)
    _set(registry, "kvrace_nightly_duration_seconds", "What the night took.", record.wall_s)
    speed = record.check("speed")
    figures = {} if speed is None else speed.figures
    if WALL in figures:
        _set(registry, "kvrace_nightly_command_seconds", "Median of the main command.", figures[WALL])
        _set(registry, "kvrace_nightly_command_yardsticks", "The same over a fixed piece of work.", figures[RATIOS])


def _checks(registry: CollectorRegistry, record: NightRecord) -> None:
    status = Gauge("kvrace_nightly_check", "1 for the status of the check.", ("check", "status"), registry=registry)
    took = Gauge("kvrace_nightly_check_seconds", "What the check took.", ("check",), registry=registry)
    for check in record.checks:
        for one in Status:
            status.labels(check.name, one).set(check.status is one)
        if check.status is not Status.SKIPPED:
            took.labels(check.name).set(check.wall_s)
    against = Gauge("kvrace_nightly_comparison", "1 for the status of the comparison with the baseline.",
                    ("comparison", "status"), registry=registry)  # fmt: skip
    p = Gauge("kvrace_nightly_comparison_p", "p after Holm.", ("comparison",), registry=registry)
    for comparison in record.comparisons:
        for one in Status:
            against.labels(comparison.name, one).set(comparison.status is one)
        if comparison.p_holm is not None:
            p.labels(comparison.name).set(comparison.p_holm)


def _arms(registry: CollectorRegistry, matrix: MatrixRecord) -> None:
    corrupted = Gauge("kvrace_nightly_sessions_corrupted", "Corrupted sessions.", ("arm",), registry=registry)
    judged = Gauge("kvrace_nightly_sessions_judged", "Sessions that could be judged.", ("arm",), registry=registry)
    rate = Gauge("kvrace_nightly_session_ratio", "Share of corrupted sessions.", ("arm",), registry=registry)
    bound = Gauge("kvrace_nightly_session_ratio_bound", "Ends of the 95 % interval.", ("arm", "end"), registry=registry)
    for arm in matrix.arms:
        corrupted.labels(arm.scenario).set(arm.sessions_corrupted)
        judged.labels(arm.scenario).set(arm.sessions_judged)
        if arm.session_rate is not None:
            rate.labels(arm.scenario).set(arm.session_rate)
        if arm.session_ci95 is not None:
            bound.labels(arm.scenario, "low").set(arm.session_ci95[0])
            bound.labels(arm.scenario, "high").set(arm.session_ci95[1])


def _set(registry: CollectorRegistry, name: str, words: str, value: float) -> None:
    Gauge(name, words, registry=registry).set(value)
