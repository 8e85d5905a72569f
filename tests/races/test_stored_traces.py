"""Stored traces: what we write is judged like what we kept, and what cannot be understood is never clean.

Owns: the reader. Floor: tests. Source: ours.
"""

from __future__ import annotations

import io
import json

import pytest

from kernels.races.detector.detector import detect
from kernels.races.detector.race import Verdict
from kernels.races.detector.reading import judge_lines
from kernels.substrate.trace import Operation
from kernels.substrate.trace_json import JsonLinesTrace
from tests.races.token_trace import token_trace

HEADER = {"row": "header", "format": "kvrace-trace/1"}


def stored(text: str) -> list[bytes]:
    trace, out = token_trace(text), io.BytesIO()
    sink = JsonLinesTrace(out, program="token")
    for buffer in trace.buffers:
        sink.buffer(buffer)
    for row in trace.rows:
        if isinstance(row, Operation):
            sink.operation(row)
        else:
            sink.host(row)
    sink.finish()
    return out.getvalue().splitlines(keepends=True)


@pytest.mark.parametrize(
    "text", ["L>k1:2-5 L!e C?e C<k1:3-7", "L>k1:2-5 L!e C<k1:3-7 C?e", "t@L>k t@L!e t~e t^u u@C<k3"]
)
def test_file_and_memory_give_one_verdict(text: str) -> None:
    from_file, from_memory = judge_lines(stored(text)), detect(token_trace(text))
    assert from_file.verdict is from_memory.verdict
    assert [(r.buffer, r.layer, r.intervals, r.kind) for r in from_file.races] == [
        (r.buffer, r.layer, r.intervals, r.kind) for r in from_memory.races
    ]


def rows(*given: dict[str, object]) -> list[bytes]:
    return [json.dumps(row).encode() for row in (HEADER, *given, {"row": "end", "rows": len(given) + 1})]


def kernel(op: int, stream: str, mode: str, **where: object) -> dict[str, object]:
    return {
        "row": "kernel",
        "op": op,
        "stream": stream,
        "thread": "main",
        "label": f"{mode} {op}",
        "issue": 10 * op,
        "accesses": [{"mode": mode, "buffer": "pool", **where}],
    }


POOL = {"row": "buffer", "name": "pool", "space": "device:0", "bytes": 4096}


def test_overlapping_bytes_are_a_race_and_strided_ones_beside_them_are_not() -> None:
    write = kernel(1, "load", "write", bytes=[[0, 64], [128, 192]])
    beside = kernel(2, "compute", "read", bytes=[[64, 128], [192, 256]])
    across = kernel(3, "compute", "read", bytes=[[60, 70]])
    assert judge_lines(rows(POOL, write, beside)).verdict is Verdict.CLEAN
    (race,) = judge_lines(rows(POOL, write, across)).races
    assert race.intervals == ((60, 64),)


def test_host_thread_that_overwrites_a_source_in_flight_is_a_race() -> None:
    pool = {**POOL, "space": "host"}
    copy = {**kernel(1, "load", "read", bytes=[[0, 64]]), "row": "copy"}
    done = {"row": "record", "op": 2, "stream": "load", "thread": "main", "label": "record", "issue": 20}
    record = {**done, "event": "e", "generation": 1}
    until = {"row": "until", "thread": "main", "time": 30, "issued": 2, "event": "e", "generation": 1}
    touch = {
        "row": "touch",
        "op": 3,
        "thread": "main",
        "label": "fill",
        "time": 40,
        "accesses": [{"mode": "write", "buffer": "pool", "bytes": [[0, 8]]}],
    }
    assert judge_lines(rows(pool, copy, record, touch)).verdict is Verdict.RACES
    assert judge_lines(rows(pool, copy, record, until, touch)).verdict is Verdict.CLEAN
    # What a thread did itself, its later operations follow.
    read = {**kernel(4, "load", "read", bytes=[[0, 8]]), "issue": 50}
    assert judge_lines(rows(pool, touch, read)).verdict is Verdict.CLEAN


def test_release_before_the_last_use_is_a_race() -> None:
    free = {"row": "free", "op": 2, "thread": "other", "time": 40, "buffer": "pool", "bytes": [[0, 4096]]}
    detector = judge_lines(rows(POOL, kernel(1, "load", "read", bytes=[[0, 64]]), free))
    assert [race.second.operation.label for race in detector.races] == ["free"]


GOOD = stored("L>k1 L!e C?e C<k1")


@pytest.mark.parametrize(
    ("lines", "line", "reason"),
    [
        ([], 1, "truncated"),
        (GOOD[:-1], 7, "truncated"),
        ([*GOOD[:3], GOOD[3][:20]], 4, "no JSON"),
        (GOOD[1:], 1, "header"),
        ([b'{"row": "header", "format": "nsys/9"}'], 1, "header"),
        ([GOOD[0], b'{"row": "teleport"}'], 2, "unknown row 'teleport'"),
        ([GOOD[0], *GOOD[2:]], 2, "undeclared access"),
        ([*GOOD[:3], *GOOD[4:]], 4, "has not been made"),
        ([*GOOD[:2], b'{"row": "copy", "op": 1}'], 3, "'stream' is missing"),
        (rows(POOL, kernel(2, "load", "write", bytes=[]), kernel(1, "load", "write", bytes=[])), 4, "order of issue"),
        (rows(POOL, kernel(1, "load", "write", bytes=[]), kernel(1, "load", "write", bytes=[])), 4, "order of issue"),
        ([*GOOD, GOOD[1]], 8, "behind the closing row"),
        (rows(POOL, kernel(1, "load", "write", bytes=[[9, 4]])), 3, "no half-open interval"),
        (rows(POOL, kernel(1, "load", "write")), 3, "neither 'pages' nor 'bytes'"),
        (rows(POOL, {**kernel(1, "load", "write"), "accesses": None}), 3, "every operation declares"),
    ],
)
def test_what_is_not_understood_is_unknown_with_line_and_reason(lines: list[bytes], line: int, reason: str) -> None:
    detector = judge_lines(lines)
    assert detector.verdict is Verdict.UNKNOWN
    assert detector.problems[0].row == line
    assert reason in detector.problems[0].reason
