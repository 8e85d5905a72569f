"""`run.py score`: a stored run judged anew, parser or engine, drift against baselines, and what it refuses.

Floor: tests. Source: ours.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from harness.cli.main import main
from harness.transport.contract import Reply
from results.findings import Judgement, Kind
from results.records import ExpectedCall, SessionRecord, TurnRecord
from results.store import create_run
from tests.harness.transport.streams import DONE, chunk, read
from tests.results.builders import TOOLS, call, judged, manifest, measured, said, turn

STREAM = chunk({"content": "I have booked it."}) + chunk({}, reason="stop") + DONE


def spoken(reply: Reply) -> TurnRecord:
    return said(reply.content, raw=reply.raw, completion_tokens=5)


def stored(root: Path, turns: Sequence[TurnRecord], judgements: Sequence[Judgement] = ()) -> Path:
    """A closed run of these turns; what was judged in its own day is OK unless said otherwise."""
    sessions = [SessionRecord(number, group=0, turn_count=1) for number in range(len(turns))]
    begun = manifest(session_count=len(turns))
    with create_run(root, stamp="20261129T175512Z", manifest=begun, tools=TOOLS, sessions=sessions) as writer:
        for record, judgement in zip(turns, judgements or [judged(*record.key) for record in turns], strict=True):
            writer.append(record, judgement)
        writer.close(finished="2026-11-29T18:00:00Z", measured=measured(len(turns)), summary={})
    return writer.path


def sound(length: int, noise: int, sessions: int = 12) -> list[TurnRecord]:
    """Every second reply is a little longer; which ones, the noise says."""
    return [turn(number, completion_tokens=length + (number + noise) % 2) for number in range(sessions)]


def told(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, dict[str, object]]:
    code = main(["score", *words, "--json"])
    captured = capsys.readouterr()
    assert captured.err == ""
    return code, json.loads(captured.out)


def test_it_says_who_is_to_blame_from_the_raw_text_beside_the_turns(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = stored(tmp_path, [spoken(read(STREAM))])
    assert main(["score", str(path)]) == 1
    out = capsys.readouterr().out
    assert out.startswith("CORRUPT  ")
    assert "to blame    engine 1 (corrupted turns)" in out
    assert "session 0 turn 0: ok is now lost_call" in out
    assert told(capsys, str(path))[1]["sides"] == {"engine": 1}
    (path / "raw.jsonl").unlink()
    assert main(["score", str(path)]) == 1
    captured = capsys.readouterr()
    assert "raw.jsonl:1: the file is missing" in captured.err
    assert "to blame    undecided 1" in captured.out


def test_a_turn_that_is_judged_as_in_its_own_day_is_not_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = stored(tmp_path, [said("I have booked it.")], [judged(0, 0, Kind.LOST_CALL)])
    assert main(["score", str(path)]) == 1
    assert "judged anew 0 turns" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("length", "baselines", "code", "word"),
    [(100, 2, 0, "ok"), (260, 2, 1, "violated"), (260, 1, 4, "unknown")],
)
def test_drift_is_judged_against_two_baselines(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], length: int, baselines: int, code: int, word: str
) -> None:
    path = stored(tmp_path, sound(length, 0))
    words = [str(path)]
    for number in range(baselines):
        words += ["--baseline", str(stored(tmp_path, sound(100, number)))]
    status, answer = told(capsys, *words)
    drift = answer["drift"]
    assert isinstance(drift, dict)
    assert (status, drift["verdict"]) == (code, word)
    assert main(["score", *words]) == code
    assert "drift       " in capsys.readouterr().out


def test_a_baseline_of_another_workload_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = [turn(0, expected=ExpectedCall("cancel_table", {}), tool_calls=(call("cancel_table", "{}"),))]
    words = [str(stored(tmp_path, [turn(0)])), "--baseline", str(stored(tmp_path, other))]
    assert main(["score", *words]) == 2
    assert "a run of another workload: session 0 turn 0 was asked for another call" in capsys.readouterr().err


def test_what_is_no_run_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["score", str(tmp_path / "nothing")]) == 2
    assert "there is no such folder" in capsys.readouterr().err


def test_a_run_compared_with_itself_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, other = str(stored(tmp_path, sound(100, 0))), str(stored(tmp_path, sound(100, 1)))
    for words in ([path, "--baseline", path, "--baseline", other], [path, "--baseline", other, "--baseline", other]):
        assert main(["score", *words]) == 2
        assert "is named twice: a run that is compared with itself shows no noise" in capsys.readouterr().err


@pytest.mark.parametrize("damage", ["torn", "doubled", "missing"])
def test_what_is_not_whole_is_never_clean(tmp_path: Path, capsys: pytest.CaptureFixture[str], damage: str) -> None:
    path = stored(tmp_path, sound(100, 0))
    assert main(["score", str(path)]) == 0, "the whole run is clean"
    turns = path / "turns.jsonl"
    lines = turns.read_bytes().splitlines(keepends=True)
    turns.write_bytes(
        {"torn": b"".join(lines)[:-9], "doubled": b"".join([*lines, lines[3]]), "missing": b"".join(lines[1:])}[damage]
    )
    capsys.readouterr()
    assert main(["score", str(path)]) == 4
    captured = capsys.readouterr()
    assert captured.out.startswith("UNKNOWN")
    assert "DAMAGED  not everything that was stored could be read" in captured.out
    assert "what could be read is clean, but not everything could be read" in captured.out
    assert "INTERRUPTED" not in captured.out
    assert "warning: turns.jsonl" in captured.err


def test_a_half_record_of_what_was_asked_alone_is_told_as_a_report_tells_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = stored(tmp_path, sound(100, 0))
    (path / "divergence.json").write_text('{"schema": "kvrace-serial/1", "asked')
    warnings = []
    for command in ("score", "report"):
        assert main([command, str(path)]) == 0, "the verdict does not rest on it"
        shown = capsys.readouterr().err.splitlines()
        warnings.append([line for line in shown if line.startswith("warning: ")])
    assert warnings[0] == warnings[1]
    assert "divergence.json" in warnings[0][0]
    assert len(warnings[0]) == 1
