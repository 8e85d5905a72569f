"""Rows of traces: aliases and units, and which rows make a session, a fork or a join."""

from __future__ import annotations

import gzip
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from harness.live.workloads.trace_chains import chains_of
from harness.live.workloads.trace_file import TraceFile
from kernels.errors import ConfigError
from tests.harness.live.workloads.small_files import lines, row

MS = 1_000_000


def chains(tmp_path: Path, rows: list[dict[str, Any]]) -> tuple[list[list[tuple[int, int]]], list[Any], Counter[str]]:
    """Per chain (row, pause in ms), what each link waits for, and what was left out."""
    left_out: Counter[str] = Counter()
    path = lines(tmp_path / "trace.jsonl", rows)
    found = chains_of(TraceFile(path, left_out).heads, path, left_out)
    pauses = [[(link.row, link.pause_ns // MS) for link in chain] for chain in found]
    return pauses, [[link.waits_for for link in chain] for chain in found], +left_out


def at(ms: float, **fields: Any) -> dict[str, Any]:
    return {**row([1]), "timestamp": ms, **fields}


def test_rows_of_their_own_begin_at_the_traces_times(tmp_path: Path) -> None:
    pauses, waits, _ = chains(
        tmp_path, [at(500), at(520.5), {"created_time": 700, "input_tokens": 4, "output_tokens": 1}]
    )
    assert pauses == [[(0, 0)], [(1, 20)], [(2, 200)]]
    assert waits == [[()], [()], [()]]


def test_rows_of_one_session_follow_each_other(tmp_path: Path) -> None:
    rows = [at(0, session_id="a"), at(50, session_id="b"), at(400, session_id="a"), at(0, session_id="a", delay_ms=30)]
    pauses, waits, _ = chains(tmp_path, rows)
    assert pauses == [[(0, 0), (2, 400), (3, 30)], [(1, 50)]]
    assert all(one == () for chain in waits for one in chain)


def test_agents_fork_and_join(tmp_path: Path) -> None:
    """r0 spawns two sub-agents; r3 goes on when both are back. The row of one of them stands behind r3's."""
    rows = [
        at(0, request_id="r0", session_id="main", branches=["s1", "s2"]),
        at(10, request_id="s1", session_id="sub1", tool_wait_ms=5, delay=2),
        at(90, request_id="r3", session_id="main", wait_for=["r0", "s1", "s2"], prefix_reset=True),
        at(11, request_id="s2", session_id="sub2", wait_for=["r0"], delay=7),
        at(70, request_id="r9"),
    ]
    pauses, waits, left_out = chains(tmp_path, rows)
    assert pauses == [[(0, 0), (2, 0)], [(1, 7)], [(3, 7)], [(4, 70)]]
    # The two sub-agents begin when the first request is back, and the main one goes on when both are.
    assert waits == [[(), ((1, 0), (2, 0))], [((0, 0),)], [((0, 0),)], [()]]
    assert not left_out


def test_chats_of_bailian_follow_their_parents_in_seconds(tmp_path: Path) -> None:
    chat = {"input_length": 20, "output_length": 5, "type": "text"}
    rows = [
        {**chat, "chat_id": 159, "parent_chat_id": -1, "timestamp": 61.0, "turn": 1},
        {**chat, "chat_id": 160, "parent_chat_id": 159, "timestamp": 62.5, "turn": 2},
        {**chat, "chat_id": 170, "parent_chat_id": 12, "timestamp": 63.0, "turn": 4},
        {**chat, "chat_id": 161, "parent_chat_id": 159, "timestamp": 64.0, "turn": 2},
    ]
    pauses, waits, left_out = chains(tmp_path, rows)
    assert pauses == [[(0, 0), (1, 1500)], [(2, 2000)], [(3, 3000)]]
    assert waits == [[(), ()], [()], [((0, 0),)]]
    assert left_out == {"requests that rows wait for, and that are not in the file": 1}


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        ([at(0, request_id="a", wait_for=["b"]), at(0, request_id="b", wait_for=["a"])],
         r"trace\.jsonl:1: request 'a' waits for itself"),
        ([at(0, request_id="a"), at(1), at(2, request_id="a")], r"trace\.jsonl:3: the id 'a' is also on line 1"),
        ([at(0), at(0, timestamp="now")], r"trace\.jsonl:2: field 'timestamp' is text, not a number"),
        ([at(-1)], r"trace\.jsonl:1: a time of -1"),
        ([at(1e300)], r"trace\.jsonl:1: a time of 1e\+300"),
        ([at(0, session_id=[])], r"trace\.jsonl:1: field 'session_id' is a list, not a name"),
        ([at(0, wait_for="a")], r"trace\.jsonl:1: field 'wait_for' is text, not a list"),
        ([at(0, request_id="a", wait_for=[None])], "no list of request ids"),
        ([[1, 2]], r"trace\.jsonl:1: a row must be a JSON object, not a list"),
        ([], "holds no row that can be replayed"),
    ],
)  # fmt: skip
def test_broken_traces(tmp_path: Path, rows: list[dict[str, Any]], sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence):
        chains(tmp_path, rows)


def test_a_torn_line_is_named(tmp_path: Path) -> None:
    path = tmp_path / "trace.jsonl"
    path.write_bytes(msgspec.json.encode(row([1])) + b'\n\n{"timestamp": 1')
    with pytest.raises(ConfigError, match=r"trace\.jsonl:3: not JSON"):
        TraceFile(path, Counter())


def test_unknown_fields_and_deltas_are_counted(tmp_path: Path) -> None:
    rows = [at(0, tenant="x"), at(1, tenant="y"), at(2, messages=[], message_mode="delta")]
    pauses, _, left_out = chains(tmp_path, rows)
    assert len(pauses) == 2
    assert left_out["field 'tenant'"] == 2
    assert sum("delta" in what for what in left_out) == 1


def test_packed_traces_and_parquet_give_the_same_rows(tmp_path: Path) -> None:
    rows = [at(0, session_id="a"), {**row([1, 2]), "timestamp": 9}]
    plain = lines(tmp_path / "trace.jsonl", rows)
    packed, table = tmp_path / "trace.jsonl.gz", tmp_path / "trace.parquet"
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    pq.write_table(pa.Table.from_pylist(rows), table)
    read = [TraceFile(path, Counter()) for path in (plain, packed, table)]
    entries = [[dict(one.entry(head).fields) for head in one.heads] for one in read]
    assert entries[0] == entries[1] == rows
    # A column that only some rows use is no field of the others.
    assert entries[2] == rows
    table.write_bytes(b"PAR1 and nothing")
    with pytest.raises(ConfigError, match="not a Parquet file"):
        TraceFile(table, Counter())
