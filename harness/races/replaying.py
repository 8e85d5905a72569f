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
from kernels.races.report.phrases import counted
from kernels.races.report.text import predicted_text
from kernels.races.report.timeline import timeline
from kernels.races.scheduler.outcome import Outcome
from kernels.races.scheduler.plan import Plan
from kernels.races.search.mending import Edge, edge_of
from kernels.races.search.replay import Replay, replay, run_token
from kernels.races.search.result import MendCheck
from kernels.races.search.tokens import Token


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

    @property
    def outcome(self) -> Outcome:
        return self.replay.outcome

    @property
    def races(self) -> list[Race]:
        return self.replay.detector.races

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
    if first.outcome != second.outcome:
        raise NotDeterministic(str(token))
    return Replayed(token, first, edges, with_wait)


def replay_text(done: Replayed) -> str:
    """First line: FAILS or HOLDS, the token, what was seen."""
    outcome, token = done.outcome, done.token
    verdicts = f"unordered: {'yes' if done.races else 'no'}"
    if outcome.has_failed:
        head = f"FAILS {token}: {'; '.join(_effects(outcome))}; {verdicts}"
    else:
        head = f"HOLDS {token}: no stale bytes, nothing lost, no assertion failed; {verdicts}"
    lines = [head]
    lines += [f"  added    {_edge_text(edge)}" for edge in done.edges]
    if done.is_mended and not done.edges:
        lines.append("  added    nothing: no two accesses are unordered here, so there is no wait to name")
    if not done.replay.was_met:
        why = "the added wait forbids it" if done.edges else "the program orders the two itself"
        lines.append(f"  order    the token's order cannot be had: {why}")
    for group in name_all(done.replay.detector):
        lines += ["", predicted_text(group).replace("predicted from one execution", "in this execution")]
        lines += ["", *(f"  {line}" for line in timeline(done.replay.trace, group.shown.race))]
    return "\n".join(line.rstrip() for line in lines) + "\n"


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


def _effects(outcome: Outcome) -> list[str]:
    effects: list[str] = []
    if outcome.stale:
        effects.append(f"stale bytes read by {counted(len(outcome.stale), 'operation')}")
    if outcome.lost:
        effects.append(f"{counted(len(outcome.lost), 'page')} left with wrong bytes")
    if outcome.error:
        effects.append(f"output changed: {outcome.error}")
    if outcome.stuck:
        effects.append(f"stuck: {', '.join(outcome.stuck)}")
    return effects


def _edge_text(edge: Edge) -> str:
    record = f"{edge.record_stream}.record({edge.event}) behind its operation {edge.record_place}, and "
    return f"{record if edge.record_stream else ''}{edge.stream}.wait({edge.event}) before its operation {edge.place}"
