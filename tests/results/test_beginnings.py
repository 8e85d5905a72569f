"""A cut JSON text is told from a wrong one, however it is spelled. Floor: tests."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from results.oracles.beginnings import is_beginning

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**6), 10**6) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)


@given(value=VALUES, is_ascii=st.booleans(), indent=st.sampled_from([None, 0, 2]), cut=st.floats(0, 1))
def test_every_beginning_of_every_spelling_counts(value: Any, is_ascii: bool, indent: int | None, cut: float) -> None:
    if isinstance(value, dict):
        value = dict(reversed(value.items()))
    text = json.dumps(value, ensure_ascii=is_ascii, indent=indent)
    assert is_beginning(text[: round(cut * len(text))], value)


@given(value=VALUES, other=VALUES)
def test_another_whole_value_does_not(value: Any, other: Any) -> None:
    if json.dumps(value, sort_keys=True) != json.dumps(other, sort_keys=True):
        assert not is_beginning(f"[{json.dumps(other)}]", [value])


@pytest.mark.parametrize(
    "text",
    [
        '{"a": 2',
        '{"c"',
        '{"a": 1, "b": "xz',
        '{"a": 1}',
        '{"a": 1, "b": "x\\u0g',
        '{"a": 1 "b"',
        '["',
        '{"a": -',
        "x",
        '{"a": 1的',
    ],
)
def test_what_can_no_longer_become_the_value(text: str) -> None:
    assert not is_beginning(text, {"a": 1, "b": "xy"})


@pytest.mark.parametrize(
    "text", ["", "{", '{"b": "x', '{ "a" : 1 , "b": "xy" }', '{"b":"\\u0078', '{"b": "x\\u00', '{"a": 1.0']
)
def test_what_still_can(text: str) -> None:
    assert is_beginning(text, {"a": 1, "b": "xy"})


def test_half_a_surrogate_pair_is_a_beginning() -> None:
    text = json.dumps("a😀")
    assert all(is_beginning(text[:cut], "a😀") for cut in range(len(text) + 1))
