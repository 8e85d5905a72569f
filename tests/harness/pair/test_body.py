"""Chat bodies: what is read, what is refused with which sentence, and that unknown fields never are."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.pair.body import DEFAULT_NEW_TOKENS, chat_body
from harness.pair.fields import BadBodyError

TOOL = {"type": "function", "function": {"name": "find", "parameters": {}}}
GOOD: dict[str, Any] = {"messages": [{"role": "user", "content": "hi"}], "bootstrap_room": 7}


def _read(**changes: Any) -> Any:
    return chat_body(json.dumps({**GOOD, **changes}).encode())


def test_fields_that_matter() -> None:
    body = _read(
        model="m",
        tools=[TOOL],
        max_tokens=5,
        stream=True,
        stream_options={"include_usage": True},
        user="s0001-t02",
        temperature=0,
        seed=3,
    )
    assert (body.model, body.tool_names, body.max_new_tokens, body.is_stream) == ("m", ("find",), 5, True)
    assert (body.wants_usage, body.user, body.room, body.temperature, body.seed) == (True, "s0001-t02", 7, 0.0, 3)


def test_newer_name_of_the_limit_wins_and_there_is_a_default() -> None:
    assert _read(max_tokens=5, max_completion_tokens=6).max_new_tokens == 6
    assert _read().max_new_tokens == DEFAULT_NEW_TOKENS
    assert _read(max_completion_tokens=None, max_tokens=4).max_new_tokens == 4


def test_forbidden_tools_are_left_out() -> None:
    assert _read(tools=[TOOL], tool_choice="none").tool_names == ()


def test_what_routers_add_is_ignored() -> None:
    added = {"separate_reasoning": True, "ignore_eos": False, "bootstrap_host": "h", "rid": None, "n": 1, "tools": None}
    assert _read(**added).room == 7
    assert _read(bootstrap_room=[9]).room == 9


@given(st.dictionaries(st.text(min_size=9), st.none() | st.integers() | st.text(), max_size=4))
def test_unknown_fields_are_never_refused(extra: dict[str, Any]) -> None:
    assert _read(**{f"x-{key}": value for key, value in extra.items()}).room == 7


@pytest.mark.parametrize(
    ("changes", "parameter", "sentence"),
    [
        ({"messages": []}, "messages", "at least one message"),
        ({"messages": "hi"}, "messages", "must be a list"),
        ({"messages": [{"content": "hi"}]}, "messages", r"messages\[0\] must be an object with a 'role'"),
        ({"messages": [{"role": "user", "content": 3}]}, "messages", r"messages\[0\].content must be a string"),
        ({"tools": [{"function": {}}]}, "tools", r"tools\[0\] must be an object with 'function.name'"),
        ({"tools": {}}, "tools", "'tools' must be a list, not an object"),
        ({"max_tokens": 0}, "max_tokens", "at least 1, not 0"),
        ({"max_tokens": "9"}, "max_tokens", "a whole number, not a string"),
        ({"max_completion_tokens": True}, "max_completion_tokens", "a whole number, not true or false"),
        ({"stream": "yes"}, "stream", "must be true or false, not a string"),
        ({"temperature": "hot"}, "temperature", "must be a number"),
        ({"user": 3}, "user", "must be a string, not a whole number"),
        ({"n": 2}, "n", "only n = 1"),
        ({"bootstrap_room": None}, "bootstrap_room", "send requests to the router"),
        ({"bootstrap_room": [1, 2]}, "bootstrap_room", "send requests to the router"),
    ],
)
def test_bad_bodies(changes: dict[str, Any], parameter: str, sentence: str) -> None:
    with pytest.raises(BadBodyError, match=sentence) as caught:
        _read(**changes)
    assert caught.value.parameter == parameter


@pytest.mark.parametrize(
    ("raw", "sentence"),
    [
        (b"", "not JSON"),
        (b"{", "not JSON"),
        (b"[1]", "must be a JSON object, not a list"),
        (b"null", "not null"),
        (b'{"x": "\xff"}', "not JSON"),
    ],
)
def test_what_is_no_object(raw: bytes, sentence: str) -> None:
    with pytest.raises(BadBodyError, match=sentence):
        chat_body(raw)
