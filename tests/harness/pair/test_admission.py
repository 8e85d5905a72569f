"""The rules for keys at the pair's door, each as a short story of arrivals and endings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from harness.load.clock import yield_to_others
from harness.load.names import ROLES, Role, other_role, request_keys
from harness.pair.admission import Admission, RoomTakenError, RoomUsedUpError, Ticket

pytestmark = pytest.mark.asyncio

NAME = "s0012-t03"
PREFILL, DECODE, REPLY = request_keys(NAME)


@dataclass(slots=True)
class OpenGate:
    """A gate that shows its keys; submissions happen when the test says so."""

    held: set[str] = field(default_factory=set)
    submitted: list[tuple[tuple[int, ...], Callable[[], None]]] = field(default_factory=list)
    now_ns: int = 0
    is_virtual: bool = True

    def hold(self, key: str) -> None:
        self.held.add(key)

    def release(self, key: str) -> None:
        self.held.discard(key)

    def is_held(self, key: str) -> bool:
        return key in self.held

    def submit(self, order: tuple[int, ...], deliver: Callable[[], None]) -> None:
        self.submitted.append((order, deliver))


@dataclass(slots=True)
class Door:
    gate: OpenGate = field(default_factory=OpenGate)
    aborted: list[tuple[Role, str]] = field(default_factory=list)
    admission: Admission = field(init=False)

    def __post_init__(self) -> None:
        self.admission = Admission(self.gate)

    def announce(self) -> None:
        self.gate.held |= {PREFILL, DECODE}

    def arrive(self, role: Role, room: int = 1, user: str = NAME) -> Ticket:
        return self.admission.arrive(
            role, user=user, room_id=room, abort=lambda request_id: self.aborted.append((role, request_id))
        )


async def test_each_half_releases_its_own_key() -> None:
    door = Door()
    door.announce()
    ticket = door.arrive("decode")
    assert door.gate.held == {PREFILL}
    assert (ticket.request_id, ticket.order, ticket.is_announced) == (NAME, (12, 3, 1, 1, 0), True)
    assert door.arrive("prefill").order == (12, 3, 0, 1, 0)
    assert door.gate.held == set()


async def test_end_of_decode_is_held_for_the_client_and_that_of_prefill_is_not() -> None:
    door = Door()
    door.announce()
    prefill, decode = door.arrive("prefill"), door.arrive("decode")
    door.admission.ended(prefill)
    assert door.gate.held == set()
    door.admission.ended(decode)
    assert door.gate.held == {REPLY}


async def test_failed_half_holds_its_key_and_aborts_the_other_which_holds_nothing() -> None:
    door = Door()
    door.announce()
    prefill, decode = door.arrive("prefill"), door.arrive("decode")
    door.admission.failed(prefill)
    assert door.gate.held == {PREFILL}
    assert door.aborted == [], "never inside the call that reports the failure"
    await yield_to_others()
    assert door.aborted == [("decode", NAME)]
    door.admission.ended(decode)
    assert door.gate.held == {PREFILL}


@pytest.mark.parametrize("failing", ["prefill", "decode"])
@pytest.mark.parametrize("first", ["prefill", "decode"])
async def test_retry_with_a_new_room_leaves_no_key_and_gets_an_id_of_its_own(failing: Role, first: Role) -> None:
    door = Door()
    door.announce()
    tickets = {role: door.arrive(role) for role in ("prefill", "decode")}
    door.admission.failed(tickets[failing])
    for ticket in tickets.values():
        door.admission.close(ticket)
    again = door.arrive(first, room=2)
    assert len(door.gate.held) == 1, "time must stand until the other half of the retry is there as well"
    other = door.arrive("decode" if first == "prefill" else "prefill", room=2)
    assert door.gate.held == set()
    assert {again.request_id, other.request_id} == {f"{NAME}~2"}
    assert again.is_announced
    assert other.is_announced


async def test_resend_of_one_half_to_the_same_room() -> None:
    door = Door()
    door.announce()
    first, decode = door.arrive("prefill"), door.arrive("decode")
    with pytest.raises(RoomTakenError, match="prefill half of room 1"):
        door.arrive("prefill")
    door.admission.abandoned(first)
    door.admission.close(first)
    door.gate.hold(PREFILL)
    second = door.arrive("prefill")
    assert (second.request_id, second.order) == (NAME, (12, 3, 0, 1, 1))
    assert first.order < door.gate.submitted[0][0] < second.order, "the abort must hit the first and not the second"
    assert door.gate.held == set()
    assert decode.request_id == NAME


@pytest.mark.parametrize("again", ["prefill", "decode"])
@pytest.mark.parametrize("is_other_connected", [True, False])
async def test_half_that_comes_again_when_the_other_is_over_is_refused(again: Role, is_other_connected: bool) -> None:
    """A router's HTTP client sends it twice: the engine would wait for a half that will never come again."""
    door = Door()
    tickets = {role: door.arrive(role) for role in ROLES}
    other = other_role(again)
    door.admission.ended(tickets[other])
    door.admission.abandoned(tickets[again])
    door.admission.close(tickets[again])
    if not is_other_connected:
        door.admission.close(tickets[other])
    with pytest.raises(RoomUsedUpError, match=f"room 1 is used up: the {again} half comes again"):
        door.arrive(again)
    # The pair once more, as the router then sends it.
    assert {door.arrive(role, room=2).request_id for role in ROLES} == {"room-2"}


async def test_half_that_comes_again_after_its_own_end_is_refused() -> None:
    """A second hand-off would write to pages that decode may have given to somebody else by then."""
    door = Door()
    prefill, _ = door.arrive("prefill"), door.arrive("decode")
    door.admission.ended(prefill)
    door.admission.close(prefill)
    with pytest.raises(RoomUsedUpError):
        door.arrive("prefill")


async def test_half_that_comes_again_before_the_other_has_come_is_served() -> None:
    door = Door()
    first = door.arrive("decode")
    door.admission.abandoned(first)
    door.admission.close(first)
    assert {door.arrive(role).request_id for role in ROLES} == {"room-1"}


async def test_abandoned_half_is_aborted_in_line_and_takes_the_other_with_it() -> None:
    door = Door()
    door.announce()
    door.arrive("prefill")
    decode = door.arrive("decode")
    door.admission.abandoned(decode)
    await yield_to_others()
    assert door.aborted == [("prefill", NAME)]
    (_, deliver), *others = door.gate.submitted
    deliver()
    assert others == []
    assert door.aborted == [("prefill", NAME), ("decode", NAME)]


async def test_foreign_requests_hold_nothing_and_sort_behind_ours() -> None:
    door = Door()
    foreign = door.arrive("decode", user="alice", room=9)
    assert (foreign.request_id, foreign.is_announced) == ("room-9", False)
    door.admission.ended(foreign)
    door.admission.failed(foreign)
    assert door.gate.held == set()
    assert foreign.order > door.arrive("decode", room=1).order


async def test_unannounced_request_with_a_name_of_ours_is_foreign_too() -> None:
    door = Door()
    assert door.arrive("decode").request_id == "room-1"


async def test_rooms_are_forgotten() -> None:
    door = Door()
    tickets = [door.arrive("prefill"), door.arrive("decode")]
    assert "room-1" in repr(door.admission)
    for ticket in tickets:
        door.admission.close(ticket)
    assert repr(door.admission) == "Admission(rooms=[])"
