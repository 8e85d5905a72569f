"""Replaying a token: twice, compared, and with the wait that would close it where that is asked for.

Owns: the record of a replay, which waits a token calls for. Does not own: running a token (`kernels.races`). Floor 5.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from harness.races.workload import Target
from kernels.errors import KVRaceError
from kernels.races.detector.detector import Detector
from kernels.races.detector.race import Race
from kernels.races.naming.naming import name_all, name_race
from kernels.races.report.as_json import difference_json
from kernels.races.report.phrases import effect_parts
from kernels.races.report.text import difference_text, predicted_text
from kernels.races.report.timeline import timeline
from kernels.races.scheduler.outcome import Outcome
from kernels.races.scheduler.plan import Plan
from kernels.races.search.difference import OrderDifference, difference
from kernels.races.search.mending import Edge, edge_of
from kernels.races.search.replay import Replay, replay, run_token, settled
from kernels.races.search.result import MendCheck, RaceReport
from kernels.races.search.tokens import Token

IN_THIS = "in this execution"


class NotDeterministic(KVRaceError):
    """Two replays of one token ended differently, so neither says anything."""

    exit_code = 4

    def __init__(self, token: str) -> None:
        self.token = token
        super().__init__(
            f"token {token}: two replays ended differently; the program must follow from its machine alone, "
            "without clocks, random numbers or kept state"
        )


@dataclass(frozen=True, slots=True, eq=False)
class Replayed:
    """One order, run. edges: that were added; empty where none were asked for, or there is none to add."""

    token: Token
    replay: Replay
    edges: tuple[Edge, ...] = ()
    is_mended: bool = False
    difference: OrderDifference | None = None

    @property
    def outcome(self) -> Outcome:
        return self.replay.outcome

    @property
    def races(self) -> list[Race]:
        return self.replay.detector.races

    @property
    def reports(self) -> list[RaceReport]:
        """The races of this execution, as reports. The difference belongs to the order, so the first one tells it."""
        found: list[RaceReport] = []
        for group in name_all(self.replay.detector):
            report = RaceReport(group, self.replay.detector, token=self.token, effect=self.outcome)
            report.trace, report.difference = self.replay.trace, None if found else self.difference
            found.append(report)
        return found

    @property
    def exit_code(self) -> int:
        return 1 if self.outcome.has_failed else 0


def replayed(target: Target, token: Token, *, with_wait: bool = False) -> Replayed:
    """Run a token twice. Raises: TokenRefused, ReplayDivergence, NotDeterministic, ProgramFailed."""
    with target.blaming():
        edges = _edges(target, token) if with_wait else ()
        mend = MendCheck(edges, 0, 0, 0, 0, False, False) if edges else None
        first = replay(target.program, str(token), mend=mend, has_call_sites=True)
        second = replay(target.program, str(token), mend=mend, has_call_sites=True)
        differs = None
        if first.outcome.has_failed and not edges:
            differs = difference(settled(Plan(target.program, has_call_sites=True)), token, first)
    if first.outcome != second.outcome:
        raise NotDeterministic(str(token))
    return Replayed(token, first, edges, with_wait, differs)


def replay_text(done: Replayed) -> str:
    """First line: FAILS or HOLDS, the token, what was seen."""
    lines = [head_of(done), *(f"  {name:<9}{line}" for name, line in order_lines(done))]
    for report in done.reports:
        race = report.group.shown.race
        lines += ["", predicted_text(report, IN_THIS)]
        lines += ["", *(f"  {line}" for line in timeline(done.replay.trace, race))]
        if report.difference is not None:
            lines += ["", *difference_text(report.difference, race)]
    return "\n".join(line.rstrip() for line in lines) + "\n"


def head_of(done: Replayed) -> str:
    """The first line."""
    verdicts = f"unordered: {'yes' if done.races else 'no'}"
    if done.outcome.has_failed:
        return f"FAILS {done.token}: {'; '.join(effect_parts(done.outcome))}; {verdicts}"
    return f"HOLDS {done.token}: no stale bytes, nothing lost, no assertion failed; {verdicts}"


def order_lines(done: Replayed) -> list[tuple[str, str]]:
    """What was added to the order, and whether it can be had: a name and a sentence each."""
    lines = [("added", _edge_text(edge)) for edge in done.edges]
    if done.is_mended and not done.edges:
        lines.append(("added", "nothing: no two accesses are unordered here, so there is no wait to name"))
    if not done.replay.was_met:
        why = "the added wait forbids it" if done.edges else "the program orders the two itself"
        lines.append(("order", f"the token's order cannot be had: {why}"))
    return lines


def replay_json(done: Replayed) -> dict[str, Any]:
    """The fields of `replay --json`."""
    outcome = done.outcome
    return {
        "token": str(done.token),
        "failed": outcome.has_failed,
        "order_met": done.replay.was_met,
        "unordered": bool(done.races),
        "stale_operations": list(outcome.stale),
        "lost_pages": len(outcome.lost),
        "stuck": list(outcome.stuck),
        "error": outcome.error or None,
        "added": [edge._asdict() for edge in done.edges],
        "difference": difference_json(done.difference) if done.difference is not None else None,
    }


def _edges(target: Target, token: Token) -> tuple[Edge, ...]:
    """The waits that are named for the program's execution in issue order, or, where that has no race, for this one."""
    plan = Plan(target.program)
    # Names come from issue order: there each wait and record stands where the code has it.
    for order in (Token(plan.hash), token):
        found = _named(run_token(plan, order).detector)
        if found:
            return found
    return ()


def _named(detector: Detector) -> tuple[Edge, ...]:
    races = [one for race in detector.races for one in race.each()]
    return tuple(dict.fromkeys(edge_of(name_race(detector, race).mend) for race in races))


def _edge_text(edge: Edge) -> str:
    record = f"{edge.record_stream}.record({edge.event}) behind its operation {edge.record_place}, and "
    return f"{record if edge.record_stream else ''}{edge.stream}.wait({edge.event}) before its operation {edge.place}"
