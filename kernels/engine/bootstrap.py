"""Where the two halves of a request meet: the bootstrap room.

Owns: the rendezvous records and who is woken when. Does not own: pages, copies (handoff), HTTP. Floor 2c.
Source: SGLang's disaggregation contract (facts/sglang.md section 4), in our own words: the decode half allocates its
pages and names them; the prefill half is scheduled only then; after the forward it sends pages and a metadata row.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from kernels.engine.recall.scores import TokenScores
from kernels.substrate.contract import Event, PageIds

LONELY_ROOMS_MAX: Final = 1_024
"""Rooms that one half has left before the other has come: clients that hang up early make many of them, whose other
half never comes. The latest are kept, for a half that is only late."""


@dataclass(slots=True, eq=False)
class Rendezvous:
    """One room.

    decode_pages: where the decode half wants the prompt's pages; None until it had room for them.
    row: the metadata row that the decode half keeps for this request.
    arrived: recorded behind the hand-off's last copy; None until the hand-off was enqueued.
    first_token, first_scores: what the metadata row carries; the scores only where they were asked for.
    cancelled: a half gave up; the other must let go of what it holds once no transfer is in flight.
    problem: why, where a half could not even begin.
    halves_come, halves_gone: how many of the two have been here, and how many are done with the room.
    """

    room: int
    decode_pages: PageIds | None = None
    row: int | None = None
    arrived: Event | None = None
    first_token: int | None = None
    first_scores: TokenScores | None = None
    cached_tokens: int = 0
    cancelled: bool = False
    problem: str = ""
    halves_come: int = 0
    halves_gone: int = 0


class Bootstrap:
    """The rooms in use, and the doors to knock at when one of them has changed."""

    def __init__(self) -> None:
        self._rooms: dict[int, Rendezvous] = {}
        self._lonely: dict[int, None] = {}
        self._listeners: list[Callable[[], None]] = []

    def listen(self, wake: Callable[[], None]) -> None:
        """Have `wake` called at every change; both engines listen."""
        self._listeners.append(wake)

    def meet(self, room: int) -> Rendezvous:
        """The rendezvous of a room, made by whichever half comes first."""
        meeting = self._rooms.setdefault(room, Rendezvous(room))
        meeting.halves_come += 1
        self._lonely.pop(room, None)
        return meeting

    def changed(self) -> None:
        for wake in self._listeners:
            wake()

    def give_up(self, meeting: Rendezvous, problem: str) -> None:
        """One half cannot even begin: the other need not either."""
        meeting.cancelled, meeting.problem = True, problem
        self.leave(meeting)
        self.changed()

    def leave(self, meeting: Rendezvous) -> None:
        """One half is done with its room, which is forgotten with the second: a half that comes late may find it
        cancelled. Where none comes, it is forgotten after many more such rooms."""
        meeting.halves_gone += 1
        if meeting.halves_gone == 2:
            del self._rooms[meeting.room]
        elif meeting.halves_come == 1:
            self._lonely[meeting.room] = None
            if len(self._lonely) > LONELY_ROOMS_MAX:
                oldest = next(iter(self._lonely))
                del self._lonely[oldest], self._rooms[oldest]

    def __repr__(self) -> str:
        waiting = sum(1 for meeting in self._rooms.values() if meeting.decode_pages is None)
        return f"Bootstrap({len(self._rooms)} rooms, {waiting} without decode pages)"
