"""Rooms that only one half ever comes to: a late half finds them cancelled, and there are never more than so many."""

from __future__ import annotations

from kernels.engine.bootstrap import LONELY_ROOMS_MAX, Bootstrap


def test_rooms_of_one_half_are_bounded_and_the_late_half_is_told() -> None:
    bootstrap = Bootstrap()
    for room in range(LONELY_ROOMS_MAX + 5):
        meeting = bootstrap.meet(room)
        meeting.cancelled = True
        bootstrap.leave(meeting)
    assert len(bootstrap._rooms) == LONELY_ROOMS_MAX
    # The late half of a room that is remembered is told; with it the room goes.
    late = bootstrap.meet(5)
    assert late.cancelled
    bootstrap.leave(late)
    assert (5 in bootstrap._rooms, len(bootstrap._rooms)) == (False, LONELY_ROOMS_MAX - 1)
    assert len(bootstrap._lonely) == LONELY_ROOMS_MAX - 1


def test_room_in_use_is_never_forgotten() -> None:
    """One half has handed over and left; the other decodes while thousands of clients come and go."""
    bootstrap = Bootstrap()
    first, second = bootstrap.meet(-1), bootstrap.meet(-1)
    assert first is second
    bootstrap.leave(first)
    waiting = bootstrap.meet(-2)
    for room in range(3 * LONELY_ROOMS_MAX):
        bootstrap.leave(bootstrap.meet(room))
    assert bootstrap._rooms[-1] is second
    assert bootstrap._rooms[-2] is waiting
    bootstrap.leave(second)
    assert -1 not in bootstrap._rooms
