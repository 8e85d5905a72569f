"""The HTTP/1.1 reader of the measuring client: every split of the same bytes, and bytes that are no HTTP."""

from __future__ import annotations

import gzip
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.transport.raw.http_response import MalformedResponse, ResponseParser

OK = b"HTTP/1.1 200 OK\r\n"
BODIES = st.lists(st.binary(min_size=1, max_size=40), max_size=5)


def parse(raw: bytes, cuts: list[int]) -> tuple[ResponseParser, bytes]:
    parser = ResponseParser()
    edges = [0, *sorted(cuts), len(raw)]
    body = b"".join(parser.feed(raw[begin:end]) for begin, end in pairwise(edges))
    return parser, body


def chunks(bodies: list[bytes], *, extension: bytes = b"", trailers: bytes = b"") -> bytes:
    framed = b"".join(b"%X%s\r\n%s\r\n" % (len(body), extension, body) for body in bodies)
    return OK + b"Transfer-Encoding: chunked\r\n\r\n" + framed + b"0\r\n" + trailers + b"\r\n"


@given(BODIES, st.sampled_from([b"", b";name=value"]), st.sampled_from([b"", b"Digest: x\r\n"]))
def test_chunks_are_joined_however_the_bytes_are_cut(bodies: list[bytes], extension: bytes, trailers: bytes) -> None:
    raw = chunks(bodies, extension=extension, trailers=trailers)
    for cuts in ([], list(range(len(raw))), *([cut] for cut in range(len(raw)))):
        parser, body = parse(raw, cuts)
        assert (parser.is_complete, parser.status, body) == (True, 200, b"".join(bodies)), cuts
        assert (parser.is_reusable, parser.has_excess) == (True, False)


@given(st.binary(max_size=60))
def test_announced_length(body: bytes) -> None:
    raw = OK + b"Content-Length: %d\r\nConnection: close\r\n\r\n" % len(body) + body
    for cuts in ([], list(range(len(raw)))):
        parser, got = parse(raw, cuts)
        assert (parser.is_complete, parser.is_reusable, got) == (True, False, body)
    parser, _ = parse(raw + b"HTTP", [])
    assert parser.has_excess


def test_body_until_the_connection_closes() -> None:
    parser, body = parse(OK + b"\r\nabc", [4, 20])
    assert (parser.is_complete, parser.is_reusable, body) == (False, False, b"abc")
    assert parser.close()


@pytest.mark.parametrize(
    ("raw", "missing"),
    [
        (OK + b"Content-Length: 9\r\n\r\nabc", "the body ended 6 bytes before its announced length"),
        (OK + b"Transfer-Encoding: chunked\r\n\r\n3\r\nab", "the connection ended in the middle of the body"),
        (b"HTTP/1.1 20", "the connection ended before the head of an answer"),
    ],
)
def test_what_an_unfinished_answer_lacks(raw: bytes, missing: str) -> None:
    parser, _ = parse(raw, [])
    assert not parser.close()
    assert parser.missing() == missing


def test_interim_answers_are_skipped_and_names_have_no_case() -> None:
    raw = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" + OK
    parser, body = parse(raw + b"CONTENT-TYPE: Text/Event-Stream; charset=utf-8\r\ncontent-length: 2\r\n\r\nok", [])
    assert (parser.status, parser.content_type, body) == (200, "text/event-stream", b"ok")


@pytest.mark.parametrize("status", [204, 304])
def test_answers_without_a_body(status: int) -> None:
    parser, body = parse(b"HTTP/1.1 %d x\r\nContent-Length: 5\r\n\r\n" % status, [])
    assert (parser.is_complete, body) == (True, b"")


def test_compression_that_nobody_asked_for_is_undone() -> None:
    packed = gzip.compress(b"data: x\n\n" * 20)
    raw = OK + b"Content-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(packed) + packed
    assert parse(raw, list(range(len(raw))))[1] == b"data: x\n\n" * 20


@pytest.mark.parametrize(
    "raw",
    [
        b"SSH-2.0-OpenSSH\r\n",
        b"HTTP/2 200\r\n\r\n",
        b"HTTP/1.1 abc\r\n\r\n",
        OK + b"Content-Length: -1\r\n\r\n",
        OK + b"Content-Length: 1e3\r\n\r\n",
        OK + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n",
        OK + b"Transfer-Encoding: chunked\r\n\r\n-5\r\n",
        OK + b"Transfer-Encoding: chunked\r\n\r\n1\r\nab\r\n",
        OK + b"Content-Encoding: br\r\nContent-Length: 1\r\n\r\nx",
        OK + b"Content-Encoding: gzip\r\nContent-Length: 1\r\n\r\nx",
        OK + b"X: " + b"y" * 70_000,
        OK + b"Transfer-Encoding: chunked\r\n\r\n" + b"1" * 5_000,
        OK + b"Transfer-Encoding: chunked\r\n\r\n0\r\nX: " + b"y" * 5_000,
    ],
)
def test_bytes_that_are_no_answer(raw: bytes) -> None:
    with pytest.raises(MalformedResponse):
        parse(raw, [])


@given(st.lists(st.binary(max_size=20) | st.sampled_from([OK, b"\r\n", b"\r\n\r\n", b"5\r\n", b"0\r\n"]), max_size=8))
def test_any_bytes_at_all_end_in_a_body_or_a_sentence(pieces: list[bytes]) -> None:
    def outcome(parts: list[bytes]) -> tuple[object, ...]:
        parser = ResponseParser()
        try:
            body = b"".join(map(parser.feed, parts))
        except MalformedResponse:
            return ("malformed",)
        return (body, parser.status, parser.close())

    raw = b"".join(pieces)
    assert outcome([raw]) == outcome([raw[at : at + 1] for at in range(len(raw))])
