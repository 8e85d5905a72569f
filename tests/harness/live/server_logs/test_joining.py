"""Lines brought to the run's time and its turns: by the id they name, else by when they were written."""

from __future__ import annotations

import dataclasses
import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from harness.cli.main import main
from harness.live.server_logs.attach import attached
from harness.live.server_logs.counted import findings_of_counters
from harness.live.server_logs.joining import RunTurns, findings_of, findings_of_errors
from harness.live.server_logs.lines import LogLines
from harness.live.server_logs.zones import ZoneGuess
from results.reader import open_run
from results.records import Measured, SessionRecord, TurnRecord
from results.server_log import SERVER_LOG, LogFinding, Weight, read_server_log, write_server_log
from results.store import create_run
from tests.results.builders import judged, manifest, turn

BEGAN = datetime(2026, 1, 2, 3, 4, 0, tzinfo=UTC)
S = 1_000_000_000
CHECKSUM = "KV checksum mismatch req={} bootstrap_room=7 expected=0x1 got=0x2"


def three_turns() -> list[TurnRecord]:
    spans = [(0, 0, 0, 4), (0, 1, 5, 9), (1, 0, 2, 7)]
    raw = 'data: {{"id":"chatcmpl-{0}{1}","choices":[]}}\n\n'
    return [
        turn(session, number, request_id=f"s{session:04d}-t{number:02d}", sent_ns=sent * S, scheduled_ns=sent * S,
             first_token_ns=(sent + 1) * S, finished_ns=end * S, raw=raw.format("abcdef", f"{session}{number}"))
        for session, number, sent, end in spans
    ]  # fmt: skip


def run_turns() -> RunTurns:
    turns = RunTurns()
    # The second reply was noticed half a second late; the best estimate is the earliest.
    for one, late_s in zip(three_turns(), (0.0, 0.5, 0.2), strict=True):
        assert one.finished_ns is not None
        turns.add(one, BEGAN.timestamp() + one.finished_ns / S + late_s)
    return turns


def found_in(text: str, *, offset_s: float | None = None, arrived_s: float | None = None) -> list[LogFinding]:
    lines = LogLines("a.log", ZoneGuess(offset_s), about_s=BEGAN.timestamp(), scrub=str)
    lines.feed(text.encode(), arrived_s)
    lines.close(arrived_s)
    return findings_of(lines, run_turns())


def test_origin_is_the_earliest_estimate() -> None:
    assert run_turns().origin_s == BEGAN.timestamp()


@pytest.mark.parametrize(
    ("request_id", "turns", "how"),
    [
        ("s0001-t00", ((1, 0),), "request"),
        ("chatcmpl-abcdef01", ((0, 1),), "request"),
        ("chatcmpl-abcdef10-9f3a", ((1, 0),), "request"),
        ("chatcmpl-unknown99", ((0, 0), (1, 0)), "time"),
    ],
)
def test_turns_of_a_line(request_id: str, turns: tuple[tuple[int, int], ...], how: str) -> None:
    (found,) = found_in(f"[2026-01-02 03:04:03 TP0] {CHECKSUM.format(request_id)}\n", offset_s=0.0)
    assert (found.turns, found.how, found.at_s) == (turns, how, 3.0)
    assert (found.weight, found.is_in_run, found.stamp) == (Weight.CORRUPT, True, "2026-01-02 03:04:03")


def test_zone_and_arrival() -> None:
    text = f"[2026-01-02 05:04:08 TP0] {CHECKSUM.format('x')}\n"
    assert found_in(text, offset_s=7_200.0)[0].at_s == 8.0
    # Nobody knows the zone, but the line was read ten seconds after the beginning.
    (found,) = found_in(text, arrived_s=BEGAN.timestamp() + 10)
    assert found.at_s == 8.0
    # A clock that is wrong by an odd hour: the arrival is all there is.
    (found,) = found_in(f"[2026-01-02 04:11:08 TP0] {CHECKSUM.format('x')}\n", arrived_s=BEGAN.timestamp() + 10)
    assert found.at_s == 10.0
    (found,) = found_in(f"{CHECKSUM.format('x')}\n", arrived_s=BEGAN.timestamp() + 6)
    assert (found.at_s, found.turns) == (6.0, ((0, 1), (1, 0)))


def test_line_of_another_day_is_told_and_not_of_this_run() -> None:
    (found,) = found_in(f"[2026-01-01 03:04:05 TP0] {CHECKSUM.format('x')}\n", offset_s=0.0)
    assert (found.is_in_run, found.turns, found.how) == (False, (), "none")
    (found,) = found_in(f"{CHECKSUM.format('x')}\n", offset_s=0.0)
    assert (found.is_in_run, found.at_s) == (False, None)
    # The id says whose it is, whatever the clock says.
    (found,) = found_in(f"[2026-01-01 03:04:05 TP0] {CHECKSUM.format('s0000-t01')}\n", offset_s=0.0)
    assert (found.is_in_run, found.turns) == (True, ((0, 1),))


def test_lines_that_were_not_kept_are_counted() -> None:
    found = found_in("NVRM: Xid (PCI:0000:0f:00): 31\n" * 230)
    assert (len(found), sum(one.count for one in found)) == (200, 230)


def test_a_server_that_drops_a_request_says_so_in_its_answer() -> None:
    turns = RunTurns()
    turns.add(turn(3, 1, error="the server answered 500: Metadata corruption detected - bootstrap_room mismatch"), None)
    turns.add(turn(3, 2, error="the server answered 500: CUDA out of memory"), None)
    (found,) = findings_of_errors(turns)
    assert (found.turns, found.weight, found.how) == (((3, 1),), Weight.CORRUPT, "request")


def test_integrity_that_the_server_counts() -> None:
    assert findings_of_counters({"server_corrupted_requests": 0, "server_prompt_tokens": 9}) == []
    checksum, nan = findings_of_counters({"server_corrupted_requests": 3, "server_checksum_failures": 1})
    assert (checksum.weight, checksum.count, nan.weight, nan.count) == (Weight.CORRUPT, 1, Weight.UNKNOWN, 3)


def test_log_that_was_fetched_later(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sessions = [SessionRecord(0, 0, 2), SessionRecord(1, 0, 1)]
    begun = dataclasses.replace(
        manifest(session_count=2), backend="live", started=BEGAN.isoformat(), times_are_virtual=False
    )
    writer = create_run(tmp_path, stamp="now", manifest=begun, tools=(), sessions=sessions)
    for one in three_turns():
        writer.append(one, judged(*one.key))
    writer.close(finished="x", measured=Measured(3, 9.0, "", {}), summary={})
    log = tmp_path / "server.log"
    log.write_text(
        f"[2026-01-02 05:04:06 TP0] {CHECKSUM.format('chatcmpl-abcdef01')}\n"
        "[2026-01-02 05:04:06 TP0] KV cache pool is full. Retract requests. #retracted_reqs: 3\nnothing\n"
    )
    run = open_run(writer.path)
    found, (note,) = attached(run, [log], offset_s=7_200.0)
    assert [(one.name, one.at_s, one.turns, one.how) for one in found] == [
        ("KV checksum mismatch", 6.0, ((0, 1),), "request"),
        ("retraction: the KV pool is full", 6.0, ((0, 1), (1, 0)), "time"),
    ]
    assert "3 lines, 2 of them matter" in note
    # Taken for UTC, the second one lies two hours behind the run.
    _, (note,) = attached(run, [log], offset_s=None)
    assert "1 of them not in the run's time; times without a zone were taken for UTC" in note
    write_server_log(run.path, found)
    assert read_server_log(run.path) == (found, [])
    assert read_server_log(tmp_path) == ([], [])
    (run.path / SERVER_LOG).unlink()
    assert main(["score", str(run.path), "--json"]) != 1
    assert main(["score", str(run.path), "--server-log", str(log), "--log-zone", "+02:00", "--json"]) == 1
    shown = capsys.readouterr()
    told = json.loads(shown.out.splitlines()[-1])
    assert [one["name"] for one in told["server_log"]] == [one.name for one in found]
    assert told["verdict_reason"].startswith("the server itself reported corruption: KV checksum mismatch (1 time)")
    assert "2 of them matter" in shown.err
    # It is kept, and read from then on.
    assert read_server_log(run.path) == (found, [])
    assert main(["score", str(run.path)]) == 1
    assert "server log  the server itself reported KV checksum mismatch" in capsys.readouterr().out
    assert main(["score", str(run.path), "--server-log", str(tmp_path / "none")]) == 2
    assert main(["score", str(run.path), "--log-zone", "utc"]) == 2
