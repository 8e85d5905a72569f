"""The splice equals decoding, setting three fields and encoding; room numbers follow from seed and body."""

from __future__ import annotations

import json
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.pair.splice import Rooms, with_bootstrap

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.text(), VALUES, max_size=4), st.sampled_from([None, 2]), st.sampled_from(["", " ", "\r\n\t"]))
def test_splice_equals_the_long_way(fields: dict[str, Any], indent: int | None, space: str) -> None:
    body = (space + json.dumps(fields, indent=indent) + space).encode()
    spliced = with_bootstrap(body, host="127.0.0.1", port=8998, room=2**63 - 1)
    assert spliced is not None
    added = {"bootstrap_host": "127.0.0.1", "bootstrap_port": 8998, "bootstrap_room": 2**63 - 1}
    assert json.loads(spliced) == {**fields, **added}
    assert orjson.loads(spliced) == {**fields, **added}


def test_fields_of_the_client_lose() -> None:
    spliced = with_bootstrap(b'{"bootstrap_room": 1, "a": 2}', host="h", port=1, room=5)
    assert spliced is not None
    assert orjson.loads(spliced)["bootstrap_room"] == 5


@pytest.mark.parametrize("body", [b"", b"{", b"}", b"[]", b'"{}"', b"null", b"{} x", b"x {}"])
def test_what_is_no_object(body: bytes) -> None:
    assert with_bootstrap(body, host="h", port=1, room=5) is None


def test_rooms_do_not_depend_on_the_order_of_arrival() -> None:
    bodies = [f'{{"user": "{number}"}}'.encode() for number in range(50)]
    forward, backward = Rooms(3), Rooms(3)
    rooms = {body: forward.room(body) for body in bodies}
    assert rooms == {body: backward.room(body) for body in bodies[::-1]}
    assert len(set(rooms.values())) == 50
    assert all(0 <= room < 2**63 for room in rooms.values())
    assert rooms[bodies[0]] != Rooms(4).room(bodies[0])


def test_equal_bodies_get_rooms_of_their_own() -> None:
    rooms = Rooms(0)
    assert len({rooms.room(b"{}") for _ in range(20)}) == 20


def test_memory_is_bounded() -> None:
    rooms = Rooms(0, memory_bodies=2)
    first = rooms.room(b"a")
    for body in (b"b", b"c"):
        rooms.room(body)
    assert rooms.room(b"a") == first, "the oldest body is forgotten, so its count starts again"
