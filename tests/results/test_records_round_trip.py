"""Records come back from JSON lines and from Parquet as they went in. Floor: tests."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from results import parquet
from results.findings import Blame, Finding, Judgement, Kind, Origin, Severity, Side, Span, Verdict
from results.lines import LineFile, encode_line, read_lines
from results.records import ExpectedCall, MachineEvidence, StaleRead, ToolCall, TurnRecord
from tests.results.builders import judged, machine, turn

Record = TypeVar("Record")

words = st.text(max_size=12)
counts = st.integers(0, 2**53)
floats = st.floats(allow_nan=False, allow_infinity=False)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | floats | words,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3),
    max_leaves=6,
)
stale_reads = st.builds(StaleRead, words, counts, st.lists(counts, max_size=3).map(tuple), late_us=floats, torn=counts)
evidence = st.builds(
    MachineEvidence,
    **dict.fromkeys(("host_hit_tokens", "device_hit_tokens", "new_tokens", "batch", "stale_reads"), counts),
    **dict.fromkeys(("torn_reads", "stale_layers", "poisoned_reads", "decode_stale_reads"), counts),
    late_us_max=st.none() | floats,
    stale_sample=st.lists(stale_reads, max_size=2).map(tuple),
)
turns = st.builds(
    TurnRecord,
    **dict.fromkeys(("session", "turn", "group", "scheduled_ns", "sent_ns"), counts),
    **dict.fromkeys(("first_token_ns", "finished_ns", "prompt_tokens"), st.none() | counts),
    **dict.fromkeys(("completion_tokens", "cached_tokens"), st.none() | counts),
    **dict.fromkeys(("finish_reason", "error"), st.none() | words),
    **dict.fromkeys(("request_id", "content", "reasoning"), words),
    tool_calls=st.lists(st.builds(ToolCall, words, words, words), max_size=2).map(tuple),
    expected=st.builds(ExpectedCall, words, st.dictionaries(words, json_values, max_size=3)),
    secrets=st.lists(words, max_size=2).map(tuple),
    raw=st.none(),
    machine=st.none() | evidence,
)
findings = st.builds(
    Finding,
    oracle=words,
    verdict=st.sampled_from([Verdict.VIOLATED, Verdict.UNKNOWN]),
    reason=words,
    kind=st.none() | st.sampled_from(Kind),
    severity=st.sampled_from(Severity),
    span=st.none() | st.builds(Span, words, counts, counts, words),
)
judgements = st.builds(
    Judgement,
    session=counts,
    turn=counts,
    verdict=st.sampled_from(Verdict),
    kind=st.none() | st.sampled_from(Kind),
    origin=st.none() | st.sampled_from(Origin),
    findings=st.lists(findings, max_size=3).map(tuple),
)


@given(st.lists(turns, max_size=3))
def test_turns_come_back_from_lines(stored: list[TurnRecord]) -> None:
    assert _through_lines(stored, TurnRecord) == stored


@given(st.lists(judgements, max_size=3))
def test_judgements_come_back_from_lines(stored: list[Judgement]) -> None:
    assert _through_lines(stored, Judgement) == stored


@given(st.lists(turns, max_size=3))
@settings(max_examples=50)
def test_turns_come_back_from_parquet(stored: list[TurnRecord]) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "turns.parquet"
        parquet.write_table(parquet.turn_table(stored, []), path)
        assert parquet.read_turns(path) == stored


def test_parquet_holds_the_verdict_beside_the_turn() -> None:
    table = parquet.turn_table([turn(0, 0), turn(0, 1)], [judged(0, 1, Kind.TOKEN_SALAD, Origin.PRIMARY)])
    assert table.column("verdict").to_pylist() == [None, "violated"]
    assert table.column("kind").to_pylist() == [None, "token_salad"]
    assert table.column("origin").to_pylist() == [None, "primary"]


def test_parquet_holds_who_is_to_blame() -> None:
    blamed = replace(judged(0, 1, Kind.LOST_CALL), blame=Blame(Side.PARSER, "it stands in the reasoning"))
    table = parquet.turn_table([turn(0, 0), turn(0, 1)], [blamed])
    assert table.column("blame").to_pylist() == [None, "parser"]
    assert table.column("blame_reason").to_pylist() == [None, "it stands in the reasoning"]


def test_a_table_of_an_older_version_is_read(tmp_path: Path) -> None:
    path = tmp_path / "turns.parquet"
    table = parquet.turn_table([turn(0, 0)], [])
    parquet.write_table(table.drop_columns(["blame", "blame_reason", "reasoning"]), path)
    assert parquet.read_turns(path) == [turn(0, 0)]


def test_parquet_has_one_row_for_each_finding() -> None:
    span = Span("content", 3, 9, "abcdef")
    two = (
        Finding("exact_call", Verdict.VIOLATED, "no call", Kind.LOST_CALL, Severity.PROOF, span),
        Finding("json_schema", Verdict.UNKNOWN, "incomplete"),
    )
    table = parquet.finding_table([judged(0, 0), Judgement(1, 2, Verdict.VIOLATED, Kind.LOST_CALL, None, two)])
    assert table.column("session").to_pylist() == [1, 1]
    assert table.column("span_begin").to_pylist() == [3, None]
    assert table.column("kind").to_pylist() == ["lost_call", None]


def test_half_a_surrogate_pair_is_spelled_out() -> None:
    """JSON can say it, UTF-8 cannot store it; the run must not die of it, and the evidence must not vanish."""
    broken = turn(content="left \ud83d right")
    (stored,) = _through_lines([broken], TurnRecord)
    assert stored.content == "left \\ud83d right"
    assert parquet.turn_table([broken], []).column("content").to_pylist() == ["left \\ud83d right"]


def test_fields_of_a_later_version_are_skipped() -> None:
    line = encode_line(judged(4, 2)).replace(b'{"session"', b'{"mood":"fine","session"')
    with TemporaryDirectory() as folder:
        path = Path(folder) / "findings.jsonl"
        path.write_bytes(line)
        assert read_lines(path, Judgement) == ([judged(4, 2)], [])


def test_lateness_that_json_cannot_hold_is_refused() -> None:
    with pytest.raises(AssertionError):
        StaleRead("index_k", 0, (1,), float("inf"), 0)
    with pytest.raises(AssertionError):
        machine(late_us_max=float("nan"))


def _through_lines(stored: list[Record], record_type: type[Record]) -> list[Record]:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "lines.jsonl"
        lines = LineFile(path)
        for record in stored:
            lines.append(record)
        lines.close(sync=False)
        records, faults = read_lines(path, record_type)
        assert faults == []
        return records
