"""Names of requests: what is written into `user` is read back, and nothing else is taken for ours."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.load.names import request_keys, request_name, session_and_turn


@given(st.integers(0, 10**9 - 1), st.integers(0, 10**9 - 1))
def test_name_is_read_back(session: int, turn: int) -> None:
    assert session_and_turn(request_name(session, turn)) == (session, turn)


@pytest.mark.parametrize("name", ["", "alice", "s1", "s1-t", "s1-t2 ", "xs1-t2", "s1-t2~2", "s-1-t2", "s1234567890-t1"])
def test_other_users_are_foreign(name: str) -> None:
    assert session_and_turn(name) is None


def test_keys_belong_to_one_request() -> None:
    assert request_keys("s0012-t03") == ("s0012-t03/prefill", "s0012-t03/decode", "s0012-t03/reply")
