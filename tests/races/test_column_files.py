"""Traces of columns: they hold what the lines hold, and no cut, damaged or foreign file is ever clean.

Owns: the columnar format, its writer and its reader. Floor: tests. Source: ours; the format is docs/trace-format.md.
"""

from __future__ import annotations

import io
import struct
import zlib
from pathlib import Path

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernels.races.detector.detector import Detector
from kernels.races.detector.race import Verdict
from kernels.races.detector.stored import judge_file, to_columns, to_lines
from kernels.substrate import trace_columns
from kernels.substrate.trace import Operation, Tee, TraceSink
from kernels.substrate.trace_columns import MAGIC, ColumnTrace
from kernels.substrate.trace_json import JsonLinesTrace
from tests.races.token_trace import token_trace
from tests.substrate.test_trace import busy_machine

ORDERED = "L>k1:2-5 L!e C?e C<k1:3-7 t~e t^u u@C<k1"


def fed(sink: TraceSink, text: str) -> None:
    trace = token_trace(text)
    for buffer in trace.buffers:
        sink.buffer(buffer)
    for row in trace.rows:
        if isinstance(row, Operation):
            sink.operation(row)
        else:
            sink.host(row)


def columns_of(text: str) -> bytes:
    out = io.BytesIO()
    trace = ColumnTrace(out, program="token", seed=7)
    fed(trace, text)
    trace.finish()
    return out.getvalue()


def judged(content: bytes) -> Detector:
    return judge_file(io.BytesIO(content))


WHOLE = columns_of(ORDERED)


@pytest.mark.parametrize("rows_a_block", [1, 7, 65_536])
def test_a_run_written_in_both_formats_says_the_same(monkeypatch: pytest.MonkeyPatch, rows_a_block: int) -> None:
    monkeypatch.setattr(trace_columns, "ROWS_A_BLOCK", rows_a_block)
    columns, lines, back = io.BytesIO(), io.BytesIO(), io.BytesIO()
    writers = ColumnTrace(columns, program="busy", seed=3), JsonLinesTrace(lines, program="busy", seed=3)
    busy_machine(Tee(writers), seed=3, has_call_sites=True)
    for writer in writers:
        writer.finish()
    assert writers[0].row_count == writers[1].row_count - 1, "lines count their closing row"
    columns.seek(0)
    assert to_lines(columns, back) is None
    assert back.getvalue() == lines.getvalue()
    again, back = io.BytesIO(), io.BytesIO()
    assert to_columns(lines.getvalue().splitlines(keepends=True), again) is None
    again.seek(0)
    assert to_lines(again, back) is None
    assert back.getvalue() == lines.getvalue()


def test_the_format_is_told_by_what_is_in_the_file(tmp_path: Path) -> None:
    lines = tmp_path / "lines.kvt"
    with lines.open("wb") as out:
        trace = JsonLinesTrace(out)
        fed(trace, ORDERED)
        trace.finish()
    with lines.open("rb") as file:
        assert judge_file(file).verdict is Verdict.CLEAN
    assert judged(WHOLE).verdict is Verdict.CLEAN
    assert judged(WHOLE).row_count == 10


def test_a_file_that_is_cut_anywhere_is_never_clean() -> None:
    for length in range(len(WHOLE)):
        detector = judged(WHOLE[:length])
        assert detector.verdict is Verdict.UNKNOWN, length
        assert detector.problems


@given(st.integers(0, len(WHOLE) - 1), st.integers(1, 255))
def test_a_file_with_one_wrong_byte_is_never_clean(at: int, change: int) -> None:
    damaged = bytearray(WHOLE)
    damaged[at] ^= change
    assert judged(bytes(damaged)).verdict is Verdict.UNKNOWN


def block(header: object, data: bytes = b"") -> bytes:
    head = orjson.dumps(header)
    body = struct.pack("<I", len(head)) + head + data
    return struct.pack("<II", len(body), zlib.crc32(body)) + body


HEADER = block({"block": "header", "format": "kvrace-columns/1", "columns": []})
END = block({"block": "end", "rows": 1, "columns": []})
ROWS = {"block": "rows", "first": 2, "rows": 1, "texts": [], "layers": [], "buffers": [], "stale": []}


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (MAGIC, "ends without its closing block: it is truncated (byte 15)"),
        (WHOLE[:-3], "3 bytes early: it is truncated"),
        (WHOLE[:-1] + b"x", "its bytes do not fit its checksum"),
        (WHOLE + b"x", "something behind the closing block"),
        (MAGIC + END, "the first block must be a header"),
        (MAGIC + block({"block": "header", "format": "kvrace-columns/9", "columns": []}), "kvrace-columns/1, not"),
        (MAGIC + HEADER + block({"block": "end", "rows": 5, "columns": []}), "counts 5 rows, there are 1"),
        (MAGIC + HEADER + block([]), "header cannot be read"),
        (MAGIC + HEADER + block({"block": "rows", "columns": [["kind", "<f8", 1, 1]]}, b"12345678"), "of integers"),
        (MAGIC + HEADER + block({**ROWS, "columns": []}), "has no column 'kind'"),
        (MAGIC + HEADER + block({**ROWS, "first": 9, "columns": []}), "a block of rows from 2 must come here"),
        (MAGIC + HEADER + block({**ROWS, "columns": [["kind", "|u1", 1, 1]]}), "header cannot be read"),
        (MAGIC + struct.pack("<II", 1 << 31, 0), "a block of 2,147,483,648 bytes cannot be"),
    ],
)
def test_what_is_not_understood_is_told_with_its_place(content: bytes, reason: str) -> None:
    (problem,) = judged(content).problems
    assert reason in problem.reason
    assert "(byte " in problem.reason


def test_numbers_that_mean_nothing_are_refused() -> None:
    """A whole file, its checksums right, with one column changed."""
    begin = len(MAGIC)
    header_length = struct.unpack_from("<I", WHOLE, begin)[0] + 8
    rows_at = begin + header_length
    length = struct.unpack_from("<I", WHOLE, rows_at)[0]
    body = WHOLE[rows_at + 8 : rows_at + 8 + length]
    head_length = struct.unpack_from("<I", body)[0]
    head, data = orjson.loads(body[4 : 4 + head_length]), body[4 + head_length :]
    seen = set()
    at = 0
    for name, kind, stored, _ in head["columns"]:
        wide = data[:at] + b"\xff" * stored * int(kind[-1]) + data[at + stored * int(kind[-1]) :]
        at += stored * int(kind[-1])
        changed = MAGIC + WHOLE[begin:rows_at] + block(head, wide) + WHOLE[rows_at + 8 + length :]
        verdict = judged(changed).verdict
        seen.add((name, verdict is Verdict.UNKNOWN))
    # Times may be anything; there is no access site; and what is one number throughout still fits together.
    without_meaning = {"issue", "start", "end", "delay", "layer", "access_site", "number", "wake", "generation"}
    assert {name for name, is_unknown in seen if not is_unknown} <= without_meaning
    assert len(seen) == 29
