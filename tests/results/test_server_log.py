"""What the server's own word does to a verdict, and what a report says of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from results.report.live_notes import host_tier_note, live_notes, liveness_notes
from results.report.markdown import render_markdown
from results.report.model import build_report
from results.server_log import LogFinding, Weight, server_log_notes, with_server_log, write_server_log
from results.store import create_run
from results.summary import summarise
from results.vacuity import demands_of, exercise_of, host_counter, not_exercised
from results.verdict import RunVerdict
from tests.results.builders import SESSIONS, TOOLS, judged, manifest, measured, turn

CLEAN, CORRUPT, UNKNOWN = RunVerdict.CLEAN, RunVerdict.CORRUPT, RunVerdict.UNKNOWN


def finding(weight: Weight = Weight.CORRUPT, **changes: Any) -> LogFinding:
    fields: dict[str, Any] = {
        "name": "KV checksum mismatch", "group": "integrity", "is_integrity": weight is not Weight.NOTHING,
        "weight": weight, "source": "a.log", "at_s": 3.0, "stamp": "03:04:05", "text": "KV checksum mismatch req=x",
        "turns": ((1, 0),), "how": "request",
    }  # fmt: skip
    return LogFinding(**(fields | changes))


@pytest.mark.parametrize(
    ("verdict", "findings", "expected"),
    [
        (CLEAN, [], CLEAN),
        (CLEAN, [finding(Weight.CORRUPT)], CORRUPT),
        (UNKNOWN, [finding(Weight.CORRUPT)], CORRUPT),
        (CLEAN, [finding(Weight.UNKNOWN)], UNKNOWN),
        (CLEAN, [finding(Weight.NOTHING)], CLEAN),
        (UNKNOWN, [finding(Weight.UNKNOWN)], UNKNOWN),
        (CORRUPT, [finding(Weight.UNKNOWN)], CORRUPT),
        (CLEAN, [finding(Weight.CORRUPT, is_in_run=False)], CLEAN),
        (CLEAN, [finding(Weight.UNKNOWN), finding(Weight.CORRUPT)], CORRUPT),
    ],
)
def test_verdict_with_the_servers_word(verdict: RunVerdict, findings: list[LogFinding], expected: RunVerdict) -> None:
    found, reason = with_server_log(verdict, "the replies say so", findings)
    assert found is expected
    assert "the replies say so" in reason
    assert ("the server itself" in reason) is (found is not verdict)


def test_summary_keeps_the_rates_and_moves_the_verdict() -> None:
    turns = [turn(session, number) for session in (0, 1) for number in (0, 1)]
    judgements = [judged(*one.key) for one in turns]
    plain = summarise(manifest(), turns, judgements, measured=measured(4), run_dir="x")
    told = summarise(manifest(), turns, judgements, measured=measured(4), run_dir="x",
                     server_log=[finding(more=2)])  # fmt: skip
    assert (plain.verdict, told.verdict, told.exit_code()) == (CLEAN, CORRUPT, 1)
    assert told.turns_corrupted == plain.turns_corrupted == 0
    assert told.verdict_reason.startswith("the server itself reported corruption: KV checksum mismatch (3 times)")


def test_notes_say_integrity_first_and_whose_it_was() -> None:
    other = finding(Weight.NOTHING, name="pool leak", text="memory leak detected!", turns=(), how="none", at_s=None)
    flight = finding(turns=tuple((0, number) for number in range(9)), how="time", name="kv-canary violation")
    notes = server_log_notes([other, finding(), finding(more=3), flight])
    assert notes == [
        "the server itself reported KV checksum mismatch, 5 times, the first at 3.0 s, of session 1 turn 0: "
        "KV checksum mismatch req=x",
        "the server itself reported kv-canary violation, 1 time, the first at 3.0 s, while session 0 turn 0, session 0 "
        "turn 1, session 0 turn 2, session 0 turn 3 and 5 more were in flight: KV checksum mismatch req=x",
        "the server's log has pool leak, 1 time: memory leak detected!",
    ]
    outside = server_log_notes([finding(is_in_run=False, turns=(), how="none")])
    assert "(not in the run's time)" in outside[0]


def test_report_of_a_stored_run_has_the_servers_word(tmp_path: Path) -> None:
    writer = create_run(tmp_path, stamp="now", manifest=manifest(), tools=TOOLS, sessions=SESSIONS)
    for session in (0, 1):
        for number in (0, 1):
            writer.append(turn(session, number), judged(session, number))
    writer.close(finished="x", measured=measured(4), summary={})
    assert build_report(writer.path).verdict is CLEAN
    write_server_log(writer.path, [finding(text="x | <b>bold</b> `")])
    report = build_report(writer.path)
    assert (report.verdict, report.exit_code) == (CORRUPT, 1)
    shown = render_markdown(report)
    assert "the server itself reported KV checksum mismatch, 1 time" in shown
    assert "0 of 4" in shown
    # A log may hold anything, and stays text.
    assert r"x \| \<b\>bold\</b\> \`" in shown


COUNTED = {"client_lag_kernel_ms_p99": 0.1, "client_cpu_share": 0.1, "streams_open_max": 3}


@pytest.mark.parametrize(
    ("counters", "words"),
    [
        ({}, "not known whether it was used"),
        ({"server_host_hit_tokens": 0, "server_load_back_tokens": 0}, "not used (server_host_hit_tokens did not move)"),
        ({"server_host_hit_tokens": 0, "server_load_back_tokens": 512}, "used, 512 tokens came back"),
        ({"server_onboarded_blocks": 7}, "used, 7 blocks came back"),
    ],
)
def test_every_live_report_says_whether_the_host_tier_was_used(counters: dict[str, int], words: str) -> None:
    assert words in host_tier_note(counters)
    assert any(words in note for note in live_notes({**COUNTED, **counters}, []))
    # A simulated run has its own proof.
    assert live_notes(counters, []) == []


def test_a_live_run_may_demand_the_host_tier() -> None:
    demanding = manifest(requires_host_tier=True, backend="live")
    turns = [turn(first_token_ns=1, finished_ns=100), turn(1, 0, first_token_ns=1, finished_ns=100)]

    def missing(**counters: int) -> str | None:
        exercise = exercise_of(turns, counters)
        return not_exercised(exercise, demands_of(demanding, exercise))

    assert missing() == "the path may not have been exercised: no counter of the server tells its host tier"
    assert missing(server_host_hit_tokens=0) == (
        "the path was not exercised: the server's own counters of its host tier did not move"
    )
    assert missing(server_host_hit_tokens=0, server_external_hit_tokens=1) is None
    assert host_counter({"server_host_hit_tokens": 0, "server_load_back_bytes": 2}) == ("server_load_back_bytes", 2)


def test_liveness_in_the_notes() -> None:
    assert liveness_notes({}) == []
    assert liveness_notes({"hang_timeout_s": 60, "hangs": 0, "stalls": 0}) == [
        "Never 60 s without a byte on some stream while requests were open."
    ]
    hung = {"hang_timeout_s": 60, "hangs": 1, "stalls": 0, "silence_s_max": 121.0, "hang_found_after_s_max": 61.0,
            "stuck_queues": 1, "recovered": 0, "requests_left_behind": 4}  # fmt: skip
    first, second, third = liveness_notes(hung)
    assert first.startswith("HANG: no byte came on any stream for 121.0 s")
    assert "found after 61.0 s (timeout 60 s)" in first
    assert second.startswith("Stuck queue")
    assert "did NOT answer" in third
    assert "4 requests were left behind" in third
    ratio = {"neighbour_ttft_ratio": 3.0, "neighbour_ttft_ratio_low": 2.0, "neighbour_ttft_ratio_high": 4.5}
    assert "3.00 times as long beside it (95 %: 2.00 to 4.50)" in liveness_notes(ratio)[0]
