"""Tool calls from deltas: every way of cutting them up that servers were seen to use (Q numbers)."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.transport.calls import CallMerger
from results.records import ToolCall
from tests.harness.transport.streams import call, calls

A = ToolCall("id-a", "find", '{"x": 1}')
B = ToolCall("id-b", "send", '{"y": 2}')


def _merged(*deltas: dict[str, Any]) -> tuple[ToolCall, ...]:
    merger = CallMerger()
    for delta in deltas:
        merger.add(delta["tool_calls"])
    return merger.calls()


def _first(expected: ToolCall, **fields: Any) -> dict[str, Any]:
    return call("", id=expected.id, name=expected.name, type="function", **fields)


Q = {
    "Q1 name first, then pieces by index": (
        [_first(A, index=0), call('{"x"', index=0), call(": 1}", index=0)],
        (A,),
    ),
    "Q2 later ids and names are null": (
        [_first(A, index=0), call('{"x"', index=0, id=None, name=None), call(": 1}", index=0, id=None, name=None)],
        (A,),
    ),
    "Q3 later ids are empty": ([_first(A, index=0), call('{"x": 1}', index=0, id="", name="")], (A,)),
    "Q4 id and name on every delta, index 0 twice": (
        [
            call('{"x"', index=0, id="0", name="find"),
            call(": 1}", index=0, id="0", name="find"),
            call('{"y"', index=0, id="1", name="send"),
            call(": 2}", index=0, id="1", name="send"),
        ],
        (ToolCall("0", "find", '{"x": 1}'), ToolCall("1", "send", '{"y": 2}')),
    ),
    "Q4 ids are numbers": ([call('{"x": 1}', index=0, id=0, name="find")], (ToolCall("0", "find", '{"x": 1}'),)),
    "Q5 no index, by id": (
        [_first(A), _first(B), call('{"x": 1}', id="id-a"), call('{"y": 2}', id="id-b")],
        (A, B),
    ),
    "Q5 no index and no later id, last call": (
        [_first(A, index=None), call('{"x": 1}'), _first(B), call('{"y": 2}')],
        (A, B),
    ),
    "Q5 no index and no id at all": (
        [call('{"x": 1}', name="find"), call('{"y"', name="send"), call(": 2}")],
        (ToolCall("", "find", '{"x": 1}'), ToolCall("", "send", '{"y": 2}')),
    ),
    "Q5 no index, by position": (
        [calls(call("", name="find"), call("", name="send")), calls(call('{"x": 1}'), call('{"y": 2}'))],
        (ToolCall("", "find", '{"x": 1}'), ToolCall("", "send", '{"y": 2}')),
    ),
    "Q6 whole parallel calls, all with index 0": (
        [call('{"x": 1}', index=0, id="id-a", name="find"), call('{"y": 2}', index=0, id="id-b", name="send")],
        (A, B),
    ),
    "Q6 the same without ids": (
        [call('{"x": 1}', index=0, name="find"), call('{"x": 2}', index=0, name="find")],
        (ToolCall("", "find", '{"x": 1}'), ToolCall("", "find", '{"x": 2}')),
    ),
    "Q7 two entries with one index": ([calls(_first(A, index=0), call('{"x": 1}', index=0))], (A,)),
    "Q8 name in pieces": (
        [call("", index=0, id="id-a", name="fi"), call("", index=0, name="nd"), call('{"x": 1}', index=0)],
        (A,),
    ),
    "Q8 arguments before the name": (
        [call('{"x"', index=0, id="id-a"), call(": 1}", index=0, name="find")],
        (A,),
    ),
    "Q9 everything at once": ([call('{"x": 1}', index=0, id="id-a", name="find")], (A,)),
    "Q10 arguments as an object": (
        [call({"x": 1}, index=0, id="id-a", name="find")],
        (ToolCall("id-a", "find", '{"x":1}'),),
    ),
    "interleaved": (
        [
            _first(A, index=0),
            _first(B, index=1),
            call('{"x"', index=0),
            call('{"y": 2}', index=1),
            call(": 1}", index=0),
        ],
        (A, B),
    ),
    "a new id with every delta, but no name": (
        [_first(A, index=0), call('{"x"', index=0, id="z"), call(": 1}", index=0, id="y")],
        (A,),
    ),
}


@pytest.mark.parametrize("name", Q)
def test_quirk(name: str) -> None:
    deltas, expected = Q[name]
    assert _merged(*deltas) == expected


@pytest.mark.parametrize("junk", [None, "x", 3, [None, "x", 3], [{"function": "x"}], [], {}])
def test_junk_is_survived(junk: object) -> None:
    merger = CallMerger()
    merger.add(junk)
    assert all(call == ToolCall("", "", "") for call in merger.calls())


def test_one_entry_without_its_list() -> None:
    merger = CallMerger()
    merger.add(_first(A, index=0)["tool_calls"][0])
    assert merger.calls() == (ToolCall("id-a", "find", ""),)


def test_entries_of_a_whole_answer_are_calls_of_their_own() -> None:
    merger = CallMerger()
    same = call('{"x": 1}', name="find")["tool_calls"][0]
    merger.add_whole([same, same])
    assert [found.name for found in merger.calls()] == ["find", "find"]


TEXTS = st.text(min_size=1, max_size=6)


@given(
    st.lists(
        st.tuples(TEXTS, st.lists(TEXTS, max_size=4)), min_size=1, max_size=4, unique_by=lambda planned: planned[0]
    ),
    st.randoms(use_true_random=False),
    st.booleans(),
)
def test_interleaved_by_index_in_any_order(planned: list[tuple[str, list[str]]], random: Any, repeats: bool) -> None:
    """Any interleaving that keeps each call's own order gives the calls, with or without repeated names."""
    queues = [
        [call("", index=number, id=f"id-{number}", name=name)]
        + [call(piece, index=number, **({"name": name} if repeats else {})) for piece in pieces]
        for number, (name, pieces) in enumerate(planned)
    ]
    heads = [queue.pop(0) for queue in queues]
    rest: list[dict[str, Any]] = []
    while any(queues):
        rest.append(random.choice([queue for queue in queues if queue]).pop(0))
    expected = tuple(ToolCall(f"id-{number}", name, "".join(pieces)) for number, (name, pieces) in enumerate(planned))
    is_ambiguous = repeats and any(piece.startswith("{") for _, pieces in planned for piece in pieces[1:])
    if not is_ambiguous:
        assert _merged(*heads, *rest) == expected


def test_surrogate_halves_in_two_pieces_become_one_character() -> None:
    (found,) = _merged(call("\ud83d", index=0, name="find"), call("\ude00", index=0))
    assert found.arguments == "😀"
