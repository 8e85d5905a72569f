"""Phrases that text and JSON share: pages, layers, accesses, verdicts.

Owns: wording. Does not own: layout. Floor 2b.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kernels.races.detector.footprint import ByteRanges
from kernels.races.detector.race import Race, Side
from kernels.races.search.result import CONFIRMATIONS, MendCheck, RaceReport
from kernels.substrate.trace import HostStep, Operation


def spans(numbers: Iterable[int]) -> str:
    """Sorted numbers as `0-6, 8`."""
    runs: list[list[int]] = []
    for number in sorted(numbers):
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ", ".join(f"{begin}" if begin == end else f"{begin}-{end}" for begin, end in runs)


def counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def place_of(race: Race) -> str:
    """`index_k[layer 7] pages 12-14 (768 B each)`."""
    if isinstance(race.footprint, ByteRanges):
        ranges = ", ".join(f"[{begin}, {end})" for begin, end in race.intervals)
        return f"{race.buffer} bytes {ranges}"
    pages = [page for begin, end in race.intervals for page in range(begin, end)]
    noun = "page" if len(pages) == 1 else "pages"
    size = page_bytes(race)
    each = f" ({size:,} B{' each' if len(pages) > 1 else ''})" if size else ""
    return f"{race.buffer}[layer {race.layer}] {noun} {spans(pages)}{each}"


def page_bytes(race: Race) -> int:
    """0 where the trace does not say."""
    for _, region in race.first.operation.accesses:
        if region.buffer.name == race.buffer:
            return region.buffer.page_bytes
    return 0


def access_columns(side: Side) -> tuple[str, ...]:
    """Mode, stream, number, label, thread, call site."""
    operation = side.operation
    mode = "write" if side.is_write else "read"
    return mode, operation.stream, f"#{operation.ordinal}", operation.label, operation.thread, operation.site


def evidence_columns(row: Operation | HostStep) -> tuple[str, ...]:
    """Who, what, which event, where."""
    if isinstance(row, HostStep):
        verb = {"until": "waits", "query": "asks"}.get(row.kind, row.kind)
        return f"thread {row.thread}", verb, row.event, "", ""
    verb = "records" if row.kind == "record" else "waits"
    bound = "" if row.kind == "record" or row.generation else "bound to nothing"
    return row.stream, verb, row.event, f"#{row.ordinal}", "  ".join(part for part in (bound, row.site) if part)


def confirmation(report: RaceReport) -> str:
    if report.is_confirmed:
        return f"confirmed {report.confirmed}/{CONFIRMATIONS}"
    if report.confirmed:
        return f"shown {report.confirmed}/{CONFIRMATIONS}: the program is not deterministic"
    return "predicted, not shown"


def mend_sentence(check: MendCheck) -> str:
    """What the added wait does, in one line."""
    parts = [counted(check.races, "race"), f"{check.failures:,} of {check.schedules:,} schedules fail"]
    if check.is_exhausted:
        one = check.orders == 1
        parts.append(f"{counted(check.orders, 'order')} {'exhausts' if one else 'exhaust'} this workload")
    else:
        parts.append(f"{counted(check.orders, 'order')} looked at, not all")
    parts.append("a circle of waits" if check.is_stuck else "nothing waits for ever")
    text = "; ".join(parts)
    return text if check.is_closed else f"NOT A FIX: {text}" + (f" ({check.why})" if check.why else "")


def effect_parts(report: RaceReport) -> Sequence[str]:
    """The verdicts on what was shown, kept apart."""
    outcome = report.effect
    if outcome is None:
        return ()
    parts: list[str] = []
    if outcome.stale:
        parts.append(f"stale bytes read by {counted(len(outcome.stale), 'operation')}")
    if outcome.lost:
        parts.append(f"{counted(len(outcome.lost), 'page')} left with wrong bytes")
    if outcome.error:
        parts.append(f"output changed: {outcome.error}")
    if outcome.stuck:
        parts.append(f"stuck: {', '.join(outcome.stuck)}")
    return parts
