"""The event decoder against a slow reference that follows the standard word by word."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from harness.transport.sse import SseDecoder, SseEvent

FIELDS = (b"data: x", b"data:", b"data: {}", b"data", b"event: x", b"id: 1", b": c", b"", b"error: {}", b"other: y")
ENDS = (b"\n", b"\r", b"\r\n", b"\n\n", b"\r\n\r\n")
LINES = st.tuples(st.sampled_from(FIELDS), st.sampled_from(ENDS)).map(b"".join)
JUNK = st.sampled_from((b"x", b" ", b":", b"\xef\xbb\xbf", b"\xff", "語".encode(), *FIELDS, *ENDS))
STREAMS = st.lists(LINES | LINES | JUNK, max_size=10).map(b"".join)


def reference(raw: bytes) -> list[SseEvent]:
    """The standard's steps on the whole text; `error:` lines and the unfinished end as the module says."""
    lines: list[bytes] = []
    line = b""
    position = 0
    while position < len(raw):
        if raw[position : position + 2] == b"\r\n":
            position += 1
        if raw[position : position + 1] in (b"\n", b"\r"):
            lines.append(line)
            line = b""
        else:
            line += raw[position : position + 1]
        position += 1
    events: list[SseEvent] = []
    data: list[bytes] = []
    kind = ""
    for number, full in enumerate([*lines, line]):
        text = full[3:] if number == 0 and full.startswith(b"\xef\xbb\xbf") else full
        if number == len(lines) and not text:
            break
        name, _, value = text.partition(b":")
        value = value[1:] if value.startswith(b" ") else value
        if not text:
            if data:
                events.append(SseEvent(b"\n".join(data), kind or "message"))
            data, kind = [], ""
        elif name == b"data":
            data.append(value)
        elif name == b"event":
            kind = value.decode()
        elif name == b"error" and b":" in text:
            events.append(SseEvent(value, "error"))
    if data:
        events.append(SseEvent(b"\n".join(data), kind or "message", is_complete=False))
    return events


def decode(raw: bytes, cuts: list[int]) -> tuple[list[SseEvent], bytes]:
    decoder = SseDecoder()
    edges = [0, *sorted(cuts), len(raw)]
    events = [event for begin, end in pairwise(edges) for event in decoder.feed(raw[begin:end])]
    return events + decoder.close(), decoder.stray


@settings(max_examples=300)
@given(STREAMS)
@example(b"\xef\xbb\xbf\ndata: x\n\n")
@example(b"data: x\r\ndata: y\r\n\r\n")
def test_any_cut_gives_the_events_of_the_standard(raw: bytes) -> None:
    expected = reference(raw)
    whole = decode(raw, [])
    assert whole[0] == expected
    assert decode(raw, list(range(len(raw)))) == whole
    assert all(decode(raw, [cut]) == whole for cut in range(len(raw)))


@pytest.mark.parametrize(
    ("raw", "events"),
    [
        (b"data: a\n\n", [SseEvent(b"a")]),
        (b"data:a\r\n\r\ndata: b\r\rdata: c\n\n", [SseEvent(b"a"), SseEvent(b"b"), SseEvent(b"c")]),
        (b"data: {\ndata: }\n\n", [SseEvent(b"{\n}")]),
        (b"data:  two spaces\n\n", [SseEvent(b" two spaces")]),
        (b": ping\n\n:\n\ndata: x\n\n", [SseEvent(b"x")]),
        (b"event: ping\n\ndata: x\n\n", [SseEvent(b"x")]),
        (b"event: done\ndata: x\n\n", [SseEvent(b"x", "done")]),
        (b"data\n\n", [SseEvent(b"")]),
        (b"error: {}\n", [SseEvent(b"{}", "error")]),
        (b"data: a\n\ndata: b", [SseEvent(b"a"), SseEvent(b"b", is_complete=False)]),
        (b"data: b\n", [SseEvent(b"b", is_complete=False)]),
        (b"", []),
    ],
)
def test_examples(raw: bytes, events: list[SseEvent]) -> None:
    assert decode(raw, []) == (events, b"")


def test_lines_that_are_no_field_are_kept() -> None:
    events, stray = decode(b'data: x\n\n{"error": 1}\nnonsense\n', [])
    assert events == [SseEvent(b"x")]
    assert stray == b'{"error": 1}\nnonsense'


def test_stray_lines_are_bounded() -> None:
    decoder = SseDecoder()
    for _ in range(100):
        decoder.feed(b"x" * 1_000 + b"\n")
    assert len(decoder.stray) <= 64 * 1024


@pytest.mark.parametrize("piece", [b"data: 0123456789", b"data: 0123\n", b"0123456789", b": comment"])
def test_memory_is_bounded_and_what_came_before_is_kept(piece: bytes) -> None:
    decoder = SseDecoder(event_bytes_max=1_000)
    events = decoder.feed(b"data: before\n\n" + piece)
    for _ in range(1_000):
        events += decoder.feed(piece)
    assert decoder.is_oversized
    assert events + decoder.close() == [SseEvent(b"before")]
    assert repr(decoder).startswith("SseDecoder(bytes:")


def test_oversized_line_is_given_up_however_it_is_cut() -> None:
    raw = b"data: before\n\n: " + b"x" * 1_000 + b"\ndata: after\n\n"
    for step in (1, 7, len(raw)):
        decoder = SseDecoder(event_bytes_max=1_000)
        events = [event for at in range(0, len(raw), step) for event in decoder.feed(raw[at : at + step])]
        assert events == [SseEvent(b"before")], step


def test_long_stream_of_small_events_is_not_oversized() -> None:
    decoder = SseDecoder(event_bytes_max=1_000)
    assert len([event for _ in range(500) for event in decoder.feed(b"data: 0123456789\n\n")]) == 500
