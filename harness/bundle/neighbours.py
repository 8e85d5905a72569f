"""Which sessions make the load around a turn, and how far each of them had come.

Owns: the order of their importance. Does not own: how many there is room for (`payload.py`). Pure. Floor 5.
Source: ours.

A turn is wrong because of what others had in the cache when it came back, so the sessions that were in flight with it
count most, then those that were active last before it. What was sent after its end cannot have harmed it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from results.records import TurnRecord


@dataclass(frozen=True, slots=True)
class SessionPart:
    """The first turns of a session. start_ns: when its first turn was sent, from the run's beginning."""

    session: int
    turn_count: int
    start_ns: int
    is_in_flight: bool


def parts_around(turn: TurnRecord, turns: Iterable[TurnRecord]) -> list[SessionPart]:
    """The turn's own session first, up to the turn itself; then the others, the most important first."""
    until_ns = _end_ns(turn)
    sent: dict[int, list[TurnRecord]] = {}
    for other in turns:
        if other.sent_ns <= until_ns and (other.session != turn.session or other.turn <= turn.turn):
            sent.setdefault(other.session, []).append(other)
    own = _part(sent.pop(turn.session), turn)
    ranked = sorted(sent.values(), key=lambda of_one: _rank(of_one, turn))
    return [own, *(_part(of_one, turn) for of_one in ranked)]


def _part(turns: list[TurnRecord], around: TurnRecord) -> SessionPart:
    return SessionPart(
        session=turns[0].session,
        turn_count=max(one.turn for one in turns) + 1,
        start_ns=min(one.sent_ns for one in turns),
        is_in_flight=any(_end_ns(one) >= around.sent_ns for one in turns),
    )


def _rank(turns: list[TurnRecord], around: TurnRecord) -> tuple[bool, int, int]:
    last_ns = max(map(_end_ns, turns))
    return (last_ns < around.sent_ns, -last_ns, turns[0].session)


def _end_ns(turn: TurnRecord) -> int:
    """When it was over; a turn that failed has no end, and counts as it began."""
    ends = (turn.sent_ns, turn.first_token_ns, turn.finished_ns)
    return max(time for time in ends if time is not None)
