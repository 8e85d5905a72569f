"""Phrases that text, JSON and HTML share: pages, layers, accesses, places in the code, verdicts.

Owns: wording. Does not own: layout. Floor 2b.
"""

from __future__ import annotations

from collections.abc import Iterable

from kernels.races.detector.footprint import ByteRanges
from kernels.races.detector.race import Race, Side
from kernels.races.naming.codes import Finding
from kernels.races.scheduler.outcome import Outcome
from kernels.races.search.result import CONFIRMATIONS, Exploration, MendCheck, RaceReport
from kernels.substrate.sites import BETWEEN, frames_of
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


def site_of(side: Side, race: Race) -> str:
    """Where the racing access was asked for: its accessor, where it has one; the launch itself otherwise."""
    operation = side.operation
    for (is_write, region), site in zip(operation.accesses, operation.access_sites, strict=False):
        if is_write == side.is_write and region.buffer.name == race.buffer and race.layer in region.layers:
            return site
    return operation.site


def short_site(site: str) -> str:
    """The place, and the line that called it: `kernels/hicache/access.py:67 in read_index_k < forward.py:98`."""
    frames = frames_of(site)
    if len(frames) < 2:
        return site
    caller = frames[1].partition(" in ")[0].rpartition("/")[2]
    return f"{frames[0]}{BETWEEN}{caller}"


def mend_place(finding: Finding) -> str:
    """Where in the code the named orders belong; empty where no call sites are known."""
    race = finding.race
    wait = _placed("wait", site_of(race.second, race))
    record = _placed("record", site_of(race.first, race)) if finding.mend.record_after is not None else ""
    return "; ".join(part for part in (record, wait) if part)


def _placed(what: str, site: str) -> str:
    """`wait in read_index_k, kernels/hicache/access.py:67`."""
    if not site:
        return ""
    line, _, function = frames_of(site)[0].partition(" in ")
    return f"{what} in {function}, {line}" if function else f"{what} in {line}"


def access_columns(side: Side, race: Race) -> tuple[str, ...]:
    """Mode, stream, number, label, thread, call site."""
    operation = side.operation
    mode = "write" if side.is_write else "read"
    place = short_site(site_of(side, race))
    return mode, operation.stream, f"#{operation.ordinal}", operation.label, operation.thread, place


def evidence_columns(row: Operation | HostStep) -> tuple[str, ...]:
    """Who, what, which event, where."""
    if isinstance(row, HostStep):
        verb = {"until": "waits", "query": "asks"}.get(row.kind, row.kind)
        return f"thread {row.thread}", verb, row.event, "", ""
    verb = "records" if row.kind == "record" else "waits"
    bound = "" if row.kind == "record" or row.generation else "bound to nothing"
    place = short_site(row.site)
    return row.stream, verb, row.event, f"#{row.ordinal}", "  ".join(part for part in (bound, place) if part)


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


def effect_parts(outcome: Outcome | None) -> list[str]:
    """What one execution showed: stale bytes, lost bytes, a failed assertion, what stands still; kept apart."""
    if outcome is None:
        return []
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


def name_of(finding: Finding) -> str:
    """`LATE_WAIT on layer_done[7]`."""
    return f"{finding.code} on {finding.mend.event}"


def headline(report: RaceReport, said: str = "") -> str:
    """The first line of a race, for grep and for the title of a page. said: instead of the confirmation."""
    token = f"   token {report.token}" if report.token is not None and not said else ""
    finding = report.group.shown
    return f"RACE  {place_of(finding.race)}   {name_of(finding)}   {said or confirmation(report)}{token}"


def repro_sentence(report: RaceReport) -> str:
    """The failing order in words; empty where there is none."""
    token, race = report.token, report.group.shown.race
    if token is None:
        return ""
    if token.choices is not None:
        return counted(len(token.choices), "recorded choice")
    if len(token.constraints) != 1:
        return f"issue order except {counted(len(token.constraints), 'constraint')}"
    pair = f"#{race.second.operation.ordinal} before #{race.first.operation.ordinal}"
    return f"issue order except ONE constraint: {pair}"


def verdicts(result: Exploration) -> tuple[tuple[str, str], ...]:
    """The three verdicts, apart: each can be true without the others."""
    return (
        ("unordered", "yes" if result.is_unordered else "no"),
        ("stale bytes observed", "yes" if result.saw_stale_bytes else "no"),
        ("output changed", "yes" if result.changed_output else "not by its own checks"),
    )
