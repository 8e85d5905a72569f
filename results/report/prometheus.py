"""`render_prometheus`: the figures of a report as Prometheus text, for node_exporter's textfile collector or a gateway.

Owns: names and labels of the gauges. A figure that is not known has no sample: a dashboard must not read it as zero.
Floor 3. Source: prometheus_client; naming after the Prometheus conventions (base units, `_ratio`, `_bytes`).
"""

from __future__ import annotations

from collections.abc import Iterable

from prometheus_client import CollectorRegistry, Gauge, generate_latest

from results.report.parts import ArmPart, Rate, Report
from results.verdict import RunVerdict

_ARM = ("arm",)


def render_prometheus(report: Report) -> str:
    """One snapshot; every sample of an arm has the label `arm`."""
    registry = CollectorRegistry()
    _verdicts(registry, report)
    _rates(registry, report.arms)
    _kinds(registry, report.arms)
    _proofs(registry, report.arms)
    faults = Gauge("kvrace_faults", "Things of the stored runs that could not be read.", registry=registry)
    faults.set(len(report.faults))
    return generate_latest(registry).decode()


def _verdicts(registry: CollectorRegistry, report: Report) -> None:
    overall = Gauge("kvrace_verdict", "1 for the verdict that was given.", ("verdict",), registry=registry)
    of_arm = Gauge("kvrace_arm_verdict", "1 for the verdict of the arm.", ("arm", "verdict"), registry=registry)
    held = Gauge("kvrace_expectation_held", "1 where the arm did what its scenario expects.", _ARM, registry=registry)
    for verdict in RunVerdict:
        overall.labels(verdict).set(report.verdict is verdict)
        for arm in report.arms:
            of_arm.labels(arm.name, verdict).set(arm.verdict is verdict)
    for arm in report.arms:
        if arm.expectation_held is not None:
            held.labels(arm.name).set(arm.expectation_held)


def _rates(registry: CollectorRegistry, arms: Iterable[ArmPart]) -> None:
    labels = ("arm", "unit")
    events = Gauge("kvrace_corrupted", "Corrupted units.", labels, registry=registry)
    units = Gauge("kvrace_judged", "Units that could be judged.", labels, registry=registry)
    rate = Gauge("kvrace_corrupted_ratio", "Share of corrupted units.", labels, registry=registry)
    bounds = Gauge("kvrace_corrupted_ratio_bound", "Ends of the 95 % interval.", (*labels, "end"), registry=registry)
    still_open = Gauge("kvrace_open_ratio", "Largest rate that a zero leaves open, 95 %.", labels, registry=registry)
    unknown = Gauge("kvrace_turns_unknown", "Turns that could not be judged.", _ARM, registry=registry)
    p = Gauge("kvrace_p_vs_control", "p against the control arm.", ("arm", "control", "correction"), registry=registry)

    def give(arm: str, unit: str, found: Rate) -> None:
        events.labels(arm, unit).set(found.events)
        units.labels(arm, unit).set(found.units)
        if found.rate is not None:
            rate.labels(arm, unit).set(found.rate)
            bounds.labels(arm, unit, "low").set(found.low)
            bounds.labels(arm, unit, "high").set(found.high)
        if found.open_bound is not None:
            still_open.labels(arm, unit).set(found.open_bound)

    for arm in arms:
        give(arm.name, "session", arm.sessions)
        give(arm.name, "turn", arm.turns)
        unknown.labels(arm.name).set(arm.turns_unknown)
        for correction, value in (("none", arm.p), ("holm", arm.p_holm)):
            if value is not None and arm.control is not None:
                p.labels(arm.name, arm.control, correction).set(value)


def _kinds(registry: CollectorRegistry, arms: Iterable[ArmPart]) -> None:
    turns = Gauge("kvrace_corrupted_turns", "Corrupted turns by kind.", ("arm", "kind"), registry=registry)
    for arm in arms:
        for row in arm.kinds:
            turns.labels(arm.name, row.kind).set(row.turns.events)


def _proofs(registry: CollectorRegistry, arms: Iterable[ArmPart]) -> None:
    names = (
        ("load_backs", "Loads from the host tier."),
        ("loaded_bytes", "Bytes loaded from the host tier."),
        ("host_hit_turns", "Turns whose prompt hit the host tier."),
        ("evicted_device_pages", "Pages evicted from the device pool."),
        ("overlap", "Most requests that the server had in progress at once."),
        ("stale_reads", "Page reads in prefill before the page had arrived."),
        ("poisoned_reads", "Page reads of pages that a misled prefill had written."),
    )
    for name, help_text in names:
        gauge = Gauge(f"kvrace_{name}", help_text, _ARM, registry=registry)
        for arm in arms:
            value = getattr(arm.proof, name)
            if value is not None:
                gauge.labels(arm.name).set(value)
