"""The fuzzers' properties on a few examples each, and every input that has ever broken one.

The long search is `make fuzz`; docs/planted.md has its figures. Floor: tests.
"""

from __future__ import annotations

import gzip

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.fuzz.seeds import WORDS, first_inputs
from benchmarks.fuzz.targets import TARGETS
from harness.transport.calls import CallMerger
from harness.transport.raw.http_response import HEAD_BYTES_MAX, INFLATED_BYTES_MAX, MalformedResponse, ResponseParser
from tests.harness.transport.streams import event, read

INPUTS = st.binary(max_size=60) | st.lists(st.sampled_from(WORDS) | st.binary(max_size=6), max_size=24).map(b"".join)
DEEP = b"[" * 300 + b"]" * 300


@pytest.mark.parametrize("name", TARGETS)
def test_first_inputs_keep_the_property(name: str) -> None:
    for data in first_inputs(name):
        TARGETS[name](data)


@pytest.mark.parametrize("name", TARGETS)
def test_any_input_keeps_the_property(name: str) -> None:
    @settings(max_examples=60)
    @given(INPUTS)
    def search(data: bytes) -> None:
        TARGETS[name](data)

    search()


def in_call(arguments: bytes) -> bytes:
    entry = b'{"index": 0, "id": "a", "function": {"name": "f", "arguments": %s}}' % arguments
    return b'data: {"choices": [{"index": 0, "delta": {"tool_calls": [%s]}, "x": "\\ud83d"}]}\n\n' % entry


FOUND = {
    "an event whose type is a list": b'data: {"type": []}\n\n',
    "a message whose content is a number": b'{"type": "message", "content": 7}',
    "arguments as very deep brackets": in_call(DEEP),
    "arguments with half a character": in_call(b'{"a": "\\ud83d"}'),
    "arguments with a number of 24 digits": in_call(b'{"a": 999999999999999999999999}'),
    "an unknown field of very deep brackets": b'data: {"zz": %s, "choices": [{"delta": {"content": "x"}}]}\n\n'
    % (b"[" * 5_000 + b"]" * 5_000),
    "a length of 5,000 digits": b"HTTP/1.1 200 OK\r\nContent-Length: " + b"9" * 5_000 + b"\r\n\r\n",
}


@pytest.mark.parametrize("what", FOUND)
def test_what_broke_a_property_once_does_so_no_more(what: str) -> None:
    data = FOUND[what]
    for name in ("turn", "reply", "http"):
        TARGETS[name](b"\x00" + data)
    TARGETS["body"](data)


def test_odd_arguments_are_kept_as_json() -> None:
    assert read(in_call(b'{"a": "\\ud83d"}')).tool_calls[0].arguments == '{"a":"\\ud83d"}'
    assert read(in_call(b'{"a": 99999999999999999999}')).tool_calls[0].arguments == '{"a":99999999999999999999}'
    assert read(in_call(DEEP)).tool_calls[0].arguments == DEEP.decode()


def test_very_many_calls_take_no_very_long_time() -> None:
    """Where each delta looked through all calls before it, this took minutes, and the test's time-out ends it."""
    merger = CallMerger()
    count = 80_000
    merger.add([{"index": index, "function": {"name": "f", "arguments": "{"}} for index in range(count)])
    merger.add([{"index": index, "function": {"arguments": "}"}} for index in range(count)])
    found = merger.calls()
    assert len(found) == count
    assert {call.arguments for call in found} == {"{}"}


def test_latest_call_of_an_id_gets_what_follows() -> None:
    # Without an index the id alone says which call goes on.
    entries = [
        {"id": "a", "function": {"name": "f", "arguments": "{}"}},
        {"id": "b", "function": {"name": "g", "arguments": "["}},
        {"id": "a", "function": {"arguments": " "}},
        {"id": "b", "function": {"arguments": "]"}},
    ]
    stream = event({"choices": [{"index": 0, "delta": {"tool_calls": entries}}]})
    assert [(call.id, call.arguments) for call in read(stream).tool_calls] == [("a", "{} "), ("b", "[]")]


def test_compressed_answer_that_unpacks_without_end_is_refused() -> None:
    head = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n"
    fits = gzip.compress(b"0" * (INFLATED_BYTES_MAX - 1))
    assert len(ResponseParser().feed(head + fits)) == INFLATED_BYTES_MAX - 1
    with pytest.raises(MalformedResponse, match="unpacks to more than"):
        ResponseParser().feed(head + gzip.compress(b"0" * (INFLATED_BYTES_MAX + 1)))


@pytest.mark.parametrize(
    ("head", "again", "what"),
    [
        (b"", b"HTTP/1.1 100 Continue\r\n\r\n", "interim answers"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n", b"X-Trailer: 1\r\n", "trailers"),
    ],
)
def test_what_is_no_body_ends_too(head: bytes, again: bytes, what: str) -> None:
    parser = ResponseParser()
    parser.feed(head)
    for _ in range(HEAD_BYTES_MAX // len(again)):
        parser.feed(again)
    with pytest.raises(MalformedResponse, match=f"more than {HEAD_BYTES_MAX} bytes of {what}"):
        parser.feed(again)
