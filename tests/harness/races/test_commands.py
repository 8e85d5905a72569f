"""`race`, `prove`, `replay`, `trace`: what they print, in which order, and their exit codes.

Owns: the commands. Floor: tests. Source: DESIGN.md sections 5 and 6; facts/concurrency.md section 6.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from harness.cli.main import main
from tests.harness.races.program_files import LOAD_AND_READ, MISTAKES, written

QUICK = ["--budget", "200", "--mend-schedules", "60"]


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A program in the working folder, so that its name is as short as a user's would be."""
    monkeypatch.chdir(tmp_path)
    written(tmp_path, "transfer.py", LOAD_AND_READ)
    return "transfer.py"


def output(capsys: pytest.CaptureFixture[str], code: int, *arguments: str) -> str:
    assert main(arguments) == code
    return capsys.readouterr().out


def refusal(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(arguments) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.count("\n") == 1
    return shown.err


def found(capsys: pytest.CaptureFixture[str], code: int, *arguments: str) -> dict[str, Any]:
    plain: dict[str, Any] = json.loads(output(capsys, code, *arguments, "--json"))
    return plain


# race


def test_race_of_a_scenario_is_named_shown_shrunk_and_closed(capsys: pytest.CaptureFixture[str]) -> None:
    text = output(capsys, 1, "race", "--scenario", "short_context", *QUICK)
    first, *lines = text.splitlines()
    assert first.startswith("RACE  prefill.r0.device.index_k[layer 0] page 0")
    assert "LATE_WAIT on prefill.r0.ring[0].layer[0]   confirmed 10/10   token kr1-" in first
    assert any(line.startswith("  checked  with that edge: 0 races; 0 of 60 schedules fail; 1 order") for line in lines)
    assert re.search(r"LATE_WAIT  prefill.r0.device.index_k layers 0-20: \d+ pairs, indexer\[layer 2\] not after", text)
    shape = "2 sessions x 1 layer x 1 page, 2 turns of the first session"
    assert f"  shrunk   deepseek-v4-flash to {shape}; 26 shapes tried" in lines
    assert lines[-1].startswith("RACES short_context (2 sessions x 1 layer x 1 page): unordered: yes; stale")


def test_race_json_has_the_promised_fields_and_its_token_stands_alone(capsys: pytest.CaptureFixture[str]) -> None:
    plain = found(capsys, 1, "race", "--scenario", "short_context", *QUICK)
    (race,) = plain["races"]
    assert race.keys() >= {"code", "buffer", "layer", "accesses", "wait_to_add", "confirmed", "token", "signature"}
    assert (race["code"], race["confirmed"], race["mend"]["closed"]) == ("LATE_WAIT", 10, True)
    assert [access["label"] for access in race["accesses"]] == ["index_k[layer 0]", "indexer[layer 0]"]
    assert race["wait_to_add"].startswith("prefill.r0.forward.wait(prefill.r0.ring[0].layer[0]) before #")
    assert plain["shrunk"] == {"sessions": 2, "layers": ["c4"], "pages": 1, "turns": 2, "tried": 26}
    assert plain["served"]["verdict"] == "races"
    assert len(race["token"]) <= 120
    assert found(capsys, 1, "replay", race["token"])["stale_operations"]
    mended = found(capsys, 0, "replay", race["token"], "--with-wait")
    assert (mended["failed"], mended["unordered"], mended["order_met"]) == (False, False, False)
    assert len(mended["added"]) == 1


def test_masked_read_is_told_and_is_no_race(capsys: pytest.CaptureFixture[str]) -> None:
    fused = ["--set", "cache.index_k_store=fused"]
    text = output(capsys, 0, "race", "--scenario", "short_context", *fused, *QUICK)
    first, *lines = text.splitlines()
    assert first.endswith("1 order, exhausted: clean for this workload")
    assert any(line.startswith("MASKED indexer[layer 1]") and "masked by the wait in project" in line for line in lines)


def test_served_run_without_a_load_proves_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    roomy = ["--set", "cache.device_tokens=400000", "--set", "cache.gate_index_k=true"]
    text = output(capsys, 4, "race", "--scenario", "short_context", *roomy, *QUICK)
    assert text.startswith("UNKNOWN short_context")
    assert "loaded nothing back" in text.splitlines()[0]


def test_program_of_a_file_is_explored_and_all_lists_each_race(
    capsys: pytest.CaptureFixture[str], program: str
) -> None:
    text = output(capsys, 1, "race", "--program", program, *QUICK, "--all")
    assert text.startswith("RACE  device.kv[layer 0] page 0 (4,096 B)   MISSING_WAIT on kv_loaded   confirmed 10/10")
    assert "  add      compute.wait(kv_loaded) before #3 attention" in text
    assert "\n    MISSING_WAIT  device.kv[layer 0] page 0 (4,096 B)  #3 attention not after #1 kv load; add" in text
    token = next(word for word in text.split() if word.startswith("kr1-"))
    assert "transfer.py:program" in token
    assert output(capsys, 1, "replay", token).startswith(f"FAILS {token}: stale bytes read by 1 operation")
    assert output(capsys, 0, "replay", token, "--with-wait").startswith(f"HOLDS {token}")
    assert output(capsys, 0, "race", "--program", f"{program}:fenced", *QUICK).startswith("CLEAN fenced: ")


@pytest.mark.parametrize(
    ("function", "sentence"),
    [
        ("", "no function 'program' of one argument, the machine; functions that would do: beyond, beyond_in_a_thread"),
        (":nothing", "no function 'nothing'"),
        (":of_two", "no function 'of_two' of one argument"),
        (":beyond", "pool has no page 7: undeclared access"),
        (":beyond_in_a_thread", "pool has no page 7: undeclared access"),
        (":misspelt", "has no attribute 'bufer' (mistakes.py:22)"),
        (":broken", "RuntimeError: boom (mistakes.py:30)"),
        (":not_called", "host thread 'main' is no generator: call the function, spawn the result"),
        (":counts_its_runs", "it does something else when it is started again"),
    ],
)
def test_mistakes_of_a_program_are_one_sentence(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, function: str, sentence: str
) -> None:
    path = written(tmp_path, "mistakes.py", MISTAKES)
    assert sentence in refusal(capsys, "race", "--program", f"{path}{function}", *QUICK)


def test_program_that_launches_nothing_is_unknown(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = written(tmp_path, "mistakes.py", MISTAKES)
    text = output(capsys, 4, "race", "--program", f"{path}:idle", *QUICK)
    assert text.startswith("UNKNOWN idle: the program launches nothing")
    assert found(capsys, 4, "prove", "--program", f"{path}:idle")["verdict"] == "unknown"


@pytest.mark.parametrize(
    ("name", "text", "sentence"),
    [("broken.py", "def program(machine:\n", "(broken.py:1)"), ("words.txt", "words", "its name must end in .py")],
)
def test_files_that_cannot_be_loaded(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, name: str, text: str, sentence: str
) -> None:
    assert sentence in refusal(capsys, "race", "--program", str(written(tmp_path, name, text)))


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["race", "--program", "nowhere.py"], "there is no file nowhere.py"),
        (["race", "--trace", "nowhere.jsonl"], "cannot be read: No such file"),
        (["race", "--scenario", "x", "--trace", "y"], "do not go together"),
        (["race", "--trace", "y", "--sessions", "4"], "means nothing with --trace"),
        (["race", "--scenario", "hicache_bf17"], "did you mean 'hicache_bf16'"),
        (["race", "--strategy", "randum"], "did you mean 'random'"),
        (["prove", "--scenario", "x", "--program", "y"], "do not go together"),
        (["replay", "kr1-nonsense"], "this is no token"),
        (["replay", "nowhere.token"], "the file cannot be read"),
        (["replay", "kr1-01234567--o1.1b2.1"], "give --scenario or --program"),
        (["replay", "kr1-01234567-hicache_bf16,s=2,l=c5,p=1-o1.1b2.1"], "its workload"),
        (["replay", "kr1-01234567-hicache_bf16,s=2,l=c4,p=1-o1.1b2.1"], "the code has changed"),
    ],
)
def test_mistakes_are_one_sentence(capsys: pytest.CaptureFixture[str], arguments: list[str], sentence: str) -> None:
    assert sentence in refusal(capsys, *arguments)


def test_stored_trace_is_judged_and_a_cut_one_is_unknown(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    head = (
        '{"row": "header", "format": "kvrace-trace/1"}\n'
        '{"row": "buffer", "name": "pool", "space": "device:0", "bytes": 64}\n'
    )
    rows = [
        {"row": kind, "op": op, "stream": f"stream {op}", "thread": "main", "label": mode, "issue": op,
         "accesses": [{"mode": mode, "buffer": "pool", "bytes": [[0, 64]]}]}
        for kind, op, mode in (("copy", 1, "write"), ("kernel", 2, "read"))
    ]  # fmt: skip
    body = head + "".join(json.dumps(row) + "\n" for row in rows)
    whole = written(tmp_path, "whole.jsonl", body + '{"row": "end", "rows": 4}\n')
    text = output(capsys, 1, "race", "--trace", str(whole))
    assert text.startswith("RACE  pool bytes [0, 64)   MISSING_RECORD on")
    assert found(capsys, 1, "race", "--trace", str(whole))["races"][0]["confirmed"] == 0
    ordered = written(tmp_path, "ordered.jsonl", f'{head}{json.dumps(rows[0])}\n{{"row": "end", "rows": 3}}\n')
    assert output(capsys, 0, "race", "--trace", str(ordered)).startswith("ORDERED")
    idle = written(tmp_path, "idle.jsonl", head + '{"row": "end", "rows": 2}\n')
    assert "line 2: no row up to here touches memory" in output(capsys, 4, "race", "--trace", str(idle))
    cut = written(tmp_path, "cut.jsonl", body)
    assert output(capsys, 4, "race", "--trace", str(cut)).splitlines()[0] == "UNKNOWN the trace cannot be judged"
    unknown = found(capsys, 4, "race", "--trace", str(cut))
    assert (unknown["verdict"], unknown["races"], unknown["problems"][0]["line"]) == ("unknown", [], 5)


# prove


@pytest.mark.parametrize("name", ["hicache_bf16_gated", "hicache_bf16_fused", "off_bf16", "off_fp8"])
def test_fixed_twins_are_proved(capsys: pytest.CaptureFixture[str], name: str) -> None:
    first = output(capsys, 0, "prove", "--scenario", name).splitlines()[0]
    assert first == f"CLEAN {name} (2 sessions x 4 layers x 1 page): 1 order, exhausted: clean for this workload"


def test_proof_of_the_incident_fails_with_its_races(capsys: pytest.CaptureFixture[str]) -> None:
    plain = found(capsys, 1, "prove", "--scenario", "hicache_bf16")
    assert (plain["verdict"], plain["orders"], plain["exhausted"]) == ("races", 9, True)


def test_budget_that_ends_first_is_bounded_and_exit_4(capsys: pytest.CaptureFixture[str], program: str) -> None:
    polled = ["prove", "--program", f"{program}:polled"]
    whole = found(capsys, 0, *polled)
    assert (whole["verdict"], whole["exhausted"]) == ("clean", True)
    assert whole["orders"] > 1, "the outcomes of the query are orders too"
    assert output(capsys, 4, *polled, "--budget", "1").startswith("BOUNDED polled: nothing found in ")


def test_mutants_of_a_program_are_killed_or_equivalent(capsys: pytest.CaptureFixture[str], program: str) -> None:
    text = output(capsys, 0, "prove", "--program", f"{program}:fenced", "--mutants")
    none = "0 failed, 0 equivalent, 0 killed by another cause, 0 survived, 0 not run"
    assert text.splitlines()[0] == f"MUTANTS {program}:fenced: 4 mutants: 4 killed, {none}"
    rows = found(capsys, 0, "prove", "--program", f"{program}:fenced", "--mutants")["mutants"]
    assert {row["fate"] for row in rows} == {"killed"}
    assert {row["codes"][0] for row in rows} <= {"MISSING_WAIT", "MISSING_RECORD", "LATE_WAIT", "EARLY_RECORD"}


def test_mutants_of_a_program_that_is_not_clean_are_refused(capsys: pytest.CaptureFixture[str], program: str) -> None:
    assert output(capsys, 4, "prove", "--program", program, "--mutants").startswith(
        f"UNKNOWN {program} is not clean as it"
    )
    assert found(capsys, 4, "prove", "--program", program, "--mutants")["verdict"] == "unknown"


def test_kill_table_as_a_page_needs_mutants(capsys: pytest.CaptureFixture[str], program: str) -> None:
    assert "give it with --mutants" in refusal(capsys, "prove", "--program", program, "--markdown")


# replay, trace


def test_token_is_refused_once_the_program_has_changed(
    capsys: pytest.CaptureFixture[str], program: str, tmp_path: Path
) -> None:
    token = found(capsys, 1, "race", "--program", program, *QUICK)["races"][0]["token"]
    written(tmp_path, program, LOAD_AND_READ.replace("duration_ns=10, read_ns=10", "duration_ns=20, read_ns=10"))
    assert "the code has changed" in refusal(capsys, "replay", token)


def test_token_file_stands_for_its_token(capsys: pytest.CaptureFixture[str], program: str, tmp_path: Path) -> None:
    token = found(capsys, 1, "race", "--program", program, *QUICK)["races"][0]["token"]
    path = written(tmp_path, "case.token", f"{token}\n")
    assert found(capsys, 1, "replay", str(path))["token"] == token


def test_trace_is_a_picture_with_the_missing_order(capsys: pytest.CaptureFixture[str], program: str) -> None:
    token = found(capsys, 1, "race", "--program", program, *QUICK)["races"][0]["token"]
    picture = json.loads(output(capsys, 0, "trace", token))
    events = picture["traceEvents"]
    assert {event["args"]["name"] for event in events if event["ph"] == "M"} == {"load", "compute"}
    missing = [event for event in events if event["name"].startswith("MISSING ORDER device.kv")]
    assert [event["ph"] for event in missing] == ["s", "f"]
    closed = json.loads(output(capsys, 0, "trace", token, "--with-wait"))["traceEvents"]
    assert not any(event["name"].startswith("MISSING") for event in closed)
    assert any(event["ph"] == "f" and event["name"] == "kv_loaded" for event in closed)
