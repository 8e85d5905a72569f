"""Reports: the first line can be grepped, the parts say what was found, JSON and the picture hold the same facts.

Owns: text, JSON, Chrome trace. Floor: tests. Source: facts/concurrency.md section 6.
"""

from __future__ import annotations

import json

from kernels.races.detector.detector import detect
from kernels.races.detector.reading import judge_lines
from kernels.races.report.as_json import exploration_json
from kernels.races.report.chrome import chrome_trace
from kernels.races.report.phrases import spans
from kernels.races.report.text import exploration_text, trace_text
from kernels.races.scheduler.program import Program
from kernels.races.search.explore import explore
from kernels.races.search.result import Exploration
from tests.races import programs
from tests.races.token_trace import token_trace


def explored(program: Program) -> Exploration:
    return explore(program, budget=200, mend_schedules=60, has_call_sites=True)


def test_race_in_text() -> None:
    result = explored(programs.gate_one_short(4))
    text = exploration_text(result)
    head = text.splitlines()[0]
    token = str(result.races[0].token)
    assert head == f"RACE  device.k[layer 1] page 0 (64 B)   WRONG_EVENT on done[1]   confirmed 10/10   token {token}"
    assert "is not ordered after" in text
    assert "programs.py:" in text
    assert "add      compute.wait(done[1]) before #12 read[layer 1]" in text
    assert "checked  with that edge: 0 races; 0 of 60 schedules fail; 1 order exhausts this workload" in text
    assert "also     2 races with this signature, layers 1-3" in text
    assert text.rstrip().splitlines()[-1].startswith("RACES ")


def test_timeline_shows_the_wait_before_the_read_that_it_does_not_help() -> None:
    lines = exploration_text(explored(programs.gate_one_short(3))).splitlines()
    wait = next(index for index, line in enumerate(lines) if line.endswith("#9 wait done[0]"))
    assert "#10 read[layer 1] READS   <-- X" in lines[wait + 1]
    assert "#3 load[layer 1] begins" in lines[wait + 2]


def test_last_line_never_says_clean_for_a_bounded_search() -> None:
    bounded = explore(programs.gated(3), strategy="random", budget=30, mend_schedules=0)
    assert exploration_text(bounded).startswith("BOUNDED ")
    assert "clean" not in exploration_text(bounded).lower()
    assert exploration_text(explored(programs.gated(3))).startswith("CLEAN ")


def test_what_is_no_fix_is_told_with_its_reason() -> None:
    """A stream wait is none: the other thread may launch the read before there is a record, or the load at all."""
    text = exploration_text(explored(programs.other_thread_waits))
    assert "checked  with that edge: NOT A FIX: " in text
    assert "(REUSE_BEFORE_COMPLETION: #3 overwrites what #2 may still read" in text


def test_failure_without_a_race_is_no_race() -> None:
    text = exploration_text(explored(programs.forgotten_pool))
    assert text.startswith("FAILS error: the companion holds version 2, not 1   no unordered pair")
    assert "unordered: no" in text
    assert "RACE" not in text


def test_json_has_the_promised_fields() -> None:
    plain = json.loads(json.dumps(exploration_json(explored(programs.ungated(2)))))
    (race,) = plain["races"]
    assert {"code", "buffer", "layer", "accesses", "wait_to_add", "confirmed", "token", "signature"} <= race.keys()
    assert (race["code"], race["buffer"], race["confirmed"]) == ("MISSING_WAIT", "device.k", 10)
    assert [access["mode"] for access in race["accesses"]] == ["write", "read"]
    assert {"orders", "exhausted", "verdict"} <= plain.keys()
    assert race["mend"]["closed"]


def test_picture_has_a_track_for_each_stream_and_a_red_arrow_for_the_missing_order() -> None:
    (report,) = explored(programs.last_ungated(3)).races
    assert report.trace is not None
    picture = chrome_trace(report.trace, [report.group.shown.race], ns_per_unit=1)
    rows = json.loads(json.dumps(picture))["traceEvents"]
    assert {row["args"]["name"] for row in rows if row["ph"] == "M"} == {"load", "compute"}
    flows = [row for row in rows if row["ph"] in "sf"]
    assert [row["name"] for row in flows if row.get("cname")] == ["MISSING ORDER device.k"] * 2
    assert sum(row["ph"] == "s" for row in flows) == sum(row["ph"] == "f" for row in flows) == 3
    assert {row["args"].get("race") for row in rows if row["ph"] == "X"} == {None, "read", "write"}


def test_verdict_on_a_trace_alone() -> None:
    assert trace_text(detect(token_trace("L>k1 L!e C?e C<k1"))).startswith("ORDERED ")
    racy = trace_text(detect(token_trace("L>k1:2-4 L!e C<k1:3-7")))
    assert racy.startswith("RACE  k[layer 1] pages 3-4 (64 B each)   MISSING_WAIT on e   predicted from one execution")
    assert trace_text(judge_lines([b"{}"])).splitlines() == [
        "UNKNOWN the trace cannot be judged",
        "line 1: no object with a 'row'",
    ]


def test_spans() -> None:
    assert spans([8, 0, 1, 2]) == "0-2, 8"
