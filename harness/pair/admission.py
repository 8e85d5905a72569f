"""The door of the pair: names each request, pairs its halves by room, and keeps virtual time honest meanwhile.

Owns: which rooms are live, which request id both halves of a room carry, and the keys that are held and released
around an arrival, a failure and an end. Does not own: engines, HTTP, time.
Floor 5. Source: facts/real-servers.md section 1 (a retry comes with a new room, a resend with the same one to one
worker only, and a router may cancel one half); the rules are ours.

The rules for keys, which hold for our router and for the real ones:
- a half that arrives releases its own key, and holds the other half's unless that has arrived in this room too;
- a half that fails holds its own key again: either a retry arrives and releases it, or the client sees the error;
- a decode half that ends holds the reply's key, and the client releases it;
- a half that is aborted because the other one failed holds nothing: the other one's key is held already.
A request that no client announced by holding its keys first (someone's curl) is served, and holds nothing.
"""

from __future__ import annotations

import asyncio
from collections import Counter, OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from harness.load.names import (
    FOREIGN_SESSION,
    ROLES,
    Role,
    half_key,
    other_role,
    reply_key,
    request_keys,
    session_and_turn,
)
from harness.pair.engines import Gate

_ROOMS_REMEMBERED: Final = 65_536


class RoomTakenError(Exception):
    """The same half of the same room is being served already: a router has sent it twice."""


class RoomUsedUpError(Exception):
    """A half comes once more, and what it would meet in its room is over.

    It would wait for ever, or write to pages that are somebody else's by now.
    """


@dataclass(frozen=True, slots=True)
class Ticket:
    """One half of one request, let in. order: (session, turn, role, room, how often this half came before)."""

    role: Role
    room: int
    user: str
    request_id: str
    order: tuple[int, ...]
    is_announced: bool
    abort: Callable[[str], None]


@dataclass(slots=True)
class _Room:
    request_id: str
    live: dict[Role, Ticket] = field(default_factory=dict)
    arrivals: Counter[Role] = field(default_factory=Counter)
    aborted: set[Role] = field(default_factory=set)
    ended: set[Role] = field(default_factory=set)


class Admission:
    """One for both workers of a pair, because a room is theirs together."""

    def __init__(self, gate: Gate) -> None:
        self._gate = gate
        self._rooms: dict[int, _Room] = {}
        self._used_up: OrderedDict[int, None] = OrderedDict()
        self._attempts: Counter[str] = Counter()

    def __repr__(self) -> str:
        return f"Admission(rooms={[(room.request_id, sorted(room.live)) for room in self._rooms.values()]})"

    def arrive(self, role: Role, *, user: str, room_id: int, abort: Callable[[str], None]) -> Ticket:
        """Let one half in; the caller must `close` the ticket. `abort` is called with the request id if need be.

        Raises: RoomTakenError, RoomUsedUpError.
        """
        if room_id in self._used_up or self._is_over_for(role, room_id):
            raise RoomUsedUpError(f"room {room_id} is used up: the {role} half comes again, and the other one is over")
        # Any of its keys: the half of a retry that comes first need not be the one that failed.
        is_announced = any(self._gate.is_held(key) for key in request_keys(user))
        room = self._rooms.get(room_id)
        if room is None:
            room = self._rooms[room_id] = _Room(self._request_id(user, room_id, is_announced=is_announced))
        elif role in room.live:
            raise RoomTakenError(f"the {role} half of room {room_id} is being served already")
        session, turn = session_and_turn(user) or (FOREIGN_SESSION, 0)
        ticket = Ticket(
            role=role,
            room=room_id,
            user=user,
            request_id=room.request_id,
            order=(session, turn, ROLES.index(role), room_id, room.arrivals[role]),
            is_announced=is_announced,
            abort=abort,
        )
        room.live[role] = ticket
        room.arrivals[role] += 1
        room.aborted.discard(role)
        room.ended.discard(role)
        if is_announced:
            if not room.arrivals[other_role(role)]:
                self._gate.hold(half_key(user, other_role(role)))
            self._gate.release(half_key(user, role))
        return ticket

    def ended(self, ticket: Ticket) -> None:
        """The engine is done with this half, in whatever way the reply itself can tell.

        Effect: with the second half that ends, time stands still until the client has read the reply. Not with the
        first: a router passes nothing on before both have answered, and a short reply may be through before the
        prefill engine, busy with its next forward, has seen that the hand-off is over.
        """
        room = self._rooms[ticket.room]
        room.ended.add(ticket.role)
        other = other_role(ticket.role)
        is_other_running = other in room.live and other not in room.ended
        if ticket.is_announced and not is_other_running and "decode" in room.ended and not self._is_aborted(ticket):
            self._gate.hold(reply_key(ticket.user))

    def failed(self, ticket: Ticket) -> None:
        """This half has no answer: nothing can come of the other one, so that is aborted in this instant."""
        if self._is_aborted(ticket):
            return
        if ticket.is_announced:
            self._gate.hold(half_key(ticket.user, ticket.role))
        self._abort_other(ticket)

    def abandoned(self, ticket: Ticket) -> None:
        """Whoever sent this half has hung up before its end."""
        # In line with the arrivals, so that it cannot overtake the submission of the same half.
        self._gate.submit((*ticket.order, 1), lambda: ticket.abort(ticket.request_id))
        self._abort_other(ticket)

    def close(self, ticket: Ticket) -> None:
        """The half's connection is finished with. A room goes when its last half does."""
        room = self._rooms[ticket.room]
        del room.live[ticket.role]
        if not room.live:
            del self._rooms[ticket.room]
            if len(room.arrivals) == len(ROLES):
                self._used_up[ticket.room] = None
            if len(self._used_up) > _ROOMS_REMEMBERED:
                self._used_up.popitem(last=False)

    def _is_over_for(self, role: Role, room_id: int) -> bool:
        """Whether this half was here before, and its own hand-off or the other half has ended since."""
        room, other = self._rooms.get(room_id), other_role(role)
        if room is None or role in room.live or not (room.arrivals[role] and room.arrivals[other]):
            return False
        return bool(room.ended) or other not in room.live

    def _is_aborted(self, ticket: Ticket) -> bool:
        return ticket.role in self._rooms[ticket.room].aborted

    def _abort_other(self, ticket: Ticket) -> None:
        room = self._rooms[ticket.room]
        other = room.live.get(other_role(ticket.role))
        if other is None or other.role in room.aborted:
            return
        room.aborted.add(other.role)
        # Not at quiescence like an arrival: a router may hold the error back until both halves have answered, and
        # the key of the failed half is held until the client has that error. Not inside this call either: engines
        # are never re-entered from a sink.
        asyncio.get_running_loop().call_soon(other.abort, other.request_id)

    def _request_id(self, user: str, room_id: int, *, is_announced: bool) -> str:
        if not is_announced:
            return f"room-{room_id}"
        self._attempts[user] += 1
        attempt = self._attempts[user]
        return user if attempt == 1 else f"{user}~{attempt}"
