"""The tables of a closed run: turns and findings as Parquet, for pandas, DuckDB and friends.

Owns: the columns. Nested things that a table would want as columns are flat (`machine_*`); free-form JSON is text.
Does not own: the truth; that is the JSON lines, and `open_run` reads those. Floor 3. Source: ours.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from results.findings import Judgement
from results.lines import encode_line
from results.records import LoadMark, MachineEvidence, TurnRecord

_CALL = pa.struct([("id", pa.string()), ("name", pa.string()), ("arguments", pa.string())])
_MACHINE = "machine_"
_MACHINE_COLUMNS = tuple(column.name for column in fields(MachineEvidence))
_MACHINE_TYPES = {"stale_sample": pa.string(), "late_us_max": pa.float64()}

_LOAD = "load_"
_LOAD_COLUMNS = tuple(column.name for column in fields(LoadMark))
_LOAD_TYPES = {"is_warm_up": pa.bool_()}

_JUDGED_COLUMNS = ("verdict", "kind", "origin", "blame", "blame_reason")

_TURN_COLUMNS = (
    *((name, pa.int64()) for name in ("session", "turn", "group", "scheduled_ns", "sent_ns")),
    *((name, pa.int64()) for name in ("first_token_ns", "finished_ns")),
    *((name, pa.int64()) for name in ("prompt_tokens", "completion_tokens", "cached_tokens", "max_tokens")),
    *((name, pa.string()) for name in ("request_id", "finish_reason", "content", "reasoning", "error")),
    ("tool_calls", pa.list_(_CALL)),
    ("expected_name", pa.string()),
    ("expected_word", pa.string()),
    ("expected_arguments", pa.string()),
    ("secrets", pa.list_(pa.string())),
    *((_MACHINE + name, _MACHINE_TYPES.get(name, pa.int64())) for name in _MACHINE_COLUMNS),
    *((_LOAD + name, _LOAD_TYPES.get(name, pa.string())) for name in _LOAD_COLUMNS),
    *((name, pa.string()) for name in _JUDGED_COLUMNS),
)
TURN_SCHEMA = pa.schema(_TURN_COLUMNS)

FINDING_SCHEMA = pa.schema(
    [
        *((name, pa.int64()) for name in ("session", "turn")),
        *((name, pa.string()) for name in ("oracle", "verdict", "kind", "severity", "reason", "span_field")),
        *((name, pa.int64()) for name in ("span_begin", "span_end")),
        ("span_text", pa.string()),
    ]
)


def turn_table(turns: Iterable[TurnRecord], judgements: Iterable[Judgement]) -> pa.Table:
    """One row a turn, with its verdict, kind, origin and blame; without the raw text."""
    judged = {judgement.key: judgement for judgement in judgements}
    rows = [_turn_row(_storable(turn), judged.get(turn.key)) for turn in turns]
    return pa.Table.from_pylist(rows, schema=TURN_SCHEMA)


def finding_table(judgements: Iterable[Judgement]) -> pa.Table:
    """One row a finding that is not OK."""
    rows = [
        {
            "session": judgement.session,
            "turn": judgement.turn,
            "oracle": finding.oracle,
            "verdict": finding.verdict,
            "kind": finding.kind,
            "severity": finding.severity,
            "reason": finding.reason,
            "span_field": finding.span and finding.span.field,
            "span_begin": finding.span and finding.span.begin,
            "span_end": finding.span and finding.span.end,
            "span_text": finding.span and finding.span.text,
        }
        for judgement in msgspec.json.decode(encode_line(tuple(judgements)), type=tuple[Judgement, ...])
        for finding in judgement.findings
    ]
    return pa.Table.from_pylist(rows, schema=FINDING_SCHEMA)


def write_table(table: pa.Table, path: Path) -> None:
    pq.write_table(table, path, compression="zstd")


def read_turns(path: Path) -> list[TurnRecord]:
    """The turns of a table, without the raw text, which is never in it."""
    return [_turn(row) for row in pq.read_table(path).to_pylist()]


def _storable(turn: TurnRecord) -> TurnRecord:
    """The turn as it reads back from its line: Arrow, too, refuses half a surrogate pair."""
    return msgspec.json.decode(encode_line(turn), type=TurnRecord)


def _turn_row(turn: TurnRecord, judgement: Judgement | None) -> dict[str, Any]:
    row: dict[str, Any] = msgspec.to_builtins(turn)
    expected, machine, load = row.pop("expected"), row.pop("machine") or {}, row.pop("load") or {}
    # No call is expected where nobody knows the answer: both columns are null then.
    row["expected_name"] = expected and expected["name"]
    row["expected_arguments"] = expected and _json_text(expected["arguments"])
    for name in _MACHINE_COLUMNS:
        row[_MACHINE + name] = machine.get(name)
    for name in _LOAD_COLUMNS:
        row[_LOAD + name] = load.get(name)
    if machine:
        row[_MACHINE + "stale_sample"] = _json_text(machine["stale_sample"])
    if judgement is not None:
        row |= {"verdict": judgement.verdict, "kind": judgement.kind, "origin": judgement.origin}
        if judgement.blame is not None:
            row |= {"blame": judgement.blame.side, "blame_reason": judgement.blame.reason}
    return row


def _turn(row: dict[str, Any]) -> TurnRecord:
    machine = {name: row.pop(_MACHINE + name) for name in _MACHINE_COLUMNS}
    load = {name: row.pop(_LOAD + name, None) for name in _LOAD_COLUMNS}
    row["load"] = None if load["phase"] is None else load
    for name in _JUDGED_COLUMNS:
        # Tables of older versions have fewer of them.
        row.pop(name, None)
    if machine["batch"] is None:
        row["machine"] = None
    else:
        row["machine"] = machine | {"stale_sample": msgspec.json.decode(machine["stale_sample"])}
    if row.get("reasoning") is None:
        row["reasoning"] = ""
    name, arguments = row.pop("expected_name"), row.pop("expected_arguments")
    row["expected"] = None if name is None else {"name": name, "arguments": msgspec.json.decode(arguments)}
    return msgspec.convert(row | {"raw": None}, type=TurnRecord)


def _json_text(value: object) -> str:
    return msgspec.json.encode(value).decode()
