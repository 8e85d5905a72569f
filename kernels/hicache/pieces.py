"""Pieces of host programs: generators that a host program runs with `yield from` and that return a value.

Owns: the type, and asking or waiting for several events. Does not own: any program. Floor 2a.
Source: the substrate's contract (`HostProgram`).
"""

from __future__ import annotations

from collections.abc import Generator, Iterable
from typing import TypeAlias, TypeVar

from kernels.substrate.contract import Event, HostOp, Query, Until

T = TypeVar("T")

HostPiece: TypeAlias = Generator[HostOp, "bool | None", T]


def all_done(events: Iterable[Event]) -> HostPiece[bool]:
    """Ask whether every event's current record has completed; stops asking at the first that has not."""
    for event in events:
        answer = yield Query(event)
        if not answer:
            return False
    return True


def wait_all(events: Iterable[Event]) -> HostPiece[None]:
    """Block the host thread until every event's current record has completed."""
    for event in events:
        yield Until(event)
