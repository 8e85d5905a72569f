"""Which turn, which neighbours, how much of them; and what is refused, or never leaves."""

from __future__ import annotations

import ast
import json
import re
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from harness.bundle.neighbours import parts_around
from harness.bundle.payload import Planned, pack
from harness.bundle.script import ScriptFacts, render
from harness.capture.record import CapturedReply, CaptureHeader, Exchange
from harness.capture.store import CaptureWriter
from harness.cli.main import main
from harness.live.arms import ArmsRun, run_arms
from harness.live.arrivals import load_shape
from harness.live.run import LiveRun, run_live
from harness.live.target import Target
from harness.live.workloads.formats import file_workload
from results.findings import Verdict
from results.reader import open_run
from results.records import TurnRecord
from results.serial.record import Freshness, SerialRecord, SerialTurn
from results.serial.store import write_serial
from tests.harness.bundle.recall_server import Case, recalling
from tests.harness.bundle.scripts import bundled, carried, constants, everything, run_script
from tests.harness.capture.secrets import in_prose, planted
from tests.harness.live.fault_server import answers_of
from tests.harness.live.live_requests import request, workload_of


def turn(session: int, number: int, sent_s: float, end_s: float | None) -> TurnRecord:
    return TurnRecord(
        session=session, turn=number, request_id="", group=0, scheduled_ns=0, sent_ns=int(sent_s * 1e9),
        first_token_ns=None, finished_ns=None if end_s is None else int(end_s * 1e9), prompt_tokens=None,
        completion_tokens=None, cached_tokens=None, finish_reason=None, content="", tool_calls=(), expected=None,
        secrets=(), error=None, raw=None, machine=None,
    )  # fmt: skip


def test_neighbours_in_the_order_of_their_importance() -> None:
    reported = turn(5, 1, 10, 12)
    turns = [
        turn(1, 0, 0, 3), turn(1, 1, 4, 6),  # over long before
        turn(2, 0, 0, 9.5), turn(2, 1, 12.5, 14),  # over just before; its later turn cannot matter
        turn(3, 0, 2, 4), turn(3, 1, 9, 11),  # in flight
        turn(4, 0, 13, 14),  # later
        turn(6, 0, 10.5, None),  # in flight, and it failed
        turn(5, 0, 1, 2), reported, turn(5, 2, 12, 13),
    ]  # fmt: skip
    parts = parts_around(reported, turns)
    assert [(part.session, part.turn_count, part.is_in_flight) for part in parts] == [
        (5, 2, True), (3, 2, True), (6, 1, True), (2, 1, False), (1, 2, False),
    ]  # fmt: skip
    assert [part.start_ns for part in parts] == [10**9, 2 * 10**9, 105 * 10**8, 0, 0]


def test_what_has_no_room_is_left_out_from_the_end() -> None:
    workload = workload_of(request(""))
    parts = parts_around(turn(0, 2, 5, 6), [turn(plan.session, 2, 0, 4) for plan in workload.sessions]
                         + [turn(0, 2, 5, 6)])  # fmt: skip
    by_number = {plan.session: plan for plan in workload.sessions}
    all_of_them = [Planned(by_number[part.session], part) for part in parts]

    def packed(room_bytes: int) -> Any:
        return pack(all_of_them, {"max_tokens": 1}, clean=lambda value: value, room_bytes=room_bytes)

    whole, one = packed(10**9), packed(1)
    assert (whole.sessions, whole.left_out, one.sessions, one.left_out) == (8, 0, 1, 7)
    some = packed(len(whole.text) * 2 // 3)
    assert 1 < some.sessions < 8
    assert len(some.text) <= len(whole.text) * 2 // 3
    assert some.turns == 3 * some.sessions


NASTY = '''"""\\\nEND = 1 @@PAYLOAD@@ @@X@@ {0} %s \u2028 \ud83d "' \x1b[31m\x00'''


def test_no_text_of_a_model_breaks_out_of_its_place(tmp_path: Path) -> None:
    facts = ScriptFacts("f.py", NASTY, (NASTY, NASTY), NASTY, 1, 2, NASTY, NASTY * 40, NASTY, 3)
    text = render(facts, {"SESSIONS": 1, "TURNS": 2, "PROMPT_TOKENS": 3, "PAYLOAD": "0@@MODEL@@0"})
    path = tmp_path / "f.py"
    path.write_text(text, encoding="utf-8")
    shown = constants(path)
    assert (shown["MODEL"], shown["EXPECTED"], shown["WHY"]) == (NASTY, NASTY, NASTY)
    assert shown["RECEIVED"].startswith((NASTY * 40)[:1_200])
    assert "characters more" in shown["RECEIVED"]
    assert shown["PAYLOAD"].strip() == "0@@MODEL@@0"
    names = [node.targets[0] for node in ast.parse(text).body if isinstance(node, ast.Assign)]
    assert "END" not in map(ast.unparse, names)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Path]:
    """A clean run and a corrupted one of the same workload."""
    found: dict[str, Path] = {}
    cases: tuple[Case, ...] = ("right", "wrong")
    for case in cases:
        store = tmp_path_factory.mktemp(case)
        with recalling(answers_of(workload_of(request(""))), case) as server:
            found[case] = Path(run_live(LiveRun(request(server.url, store=store))).summary.run_dir)
    return found


@pytest.mark.parametrize(
    ("case", "words", "sentence"),
    [
        ("right", [], "no turn of .* is corrupted .24 turns.; --turn SESSION:TURN takes any other"),
        ("right", ["--turn", "3"], "does not have the form SESSION:TURN"),
        ("right", ["--turn", "3:9"], "has the turns 0 to 2, not 9"),
        ("right", ["--turn", "99:0"], "has no session 99; it has 8 sessions"),
        ("right", ["--out", "."], "is a folder; name a file in it"),
        ("nowhere", [], "there is no such folder"),
    ],
)
def test_wrong_words(
    case: str, words: list[str], sentence: str, runs: Mapping[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["bundle", str(runs.get(case, Path("nowhere"))), *words]) == 2
    shown = capsys.readouterr()
    assert re.search(sentence, shown.err)
    assert (shown.out, shown.err.count("\n")) == ("", 1)


def serial_record(*corrupt: tuple[int, int]) -> SerialRecord:
    """A check of the first turns, of which some are corrupt by it."""
    turns = tuple(
        SerialTurn(session, number, True, False, 2, 0, 0,
                   Verdict.VIOLATED if (session, number) in corrupt else Verdict.OK, f"far off {session}:{number}")
        for session in range(8) for number in range(2)
    )  # fmt: skip
    return SerialRecord(
        Verdict.VIOLATED if corrupt else Verdict.OK, "", False, True, len(turns), 0, 0, 0, 0, 0, 0, len(corrupt), None,
        0, Freshness.FLUSHED, "", "", turns,
    )  # fmt: skip


def test_a_run_that_is_corrupt_by_the_serial_check_alone(
    runs: Mapping[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copied = tmp_path / "run"
    shutil.copytree(runs["right"], copied)
    write_serial(copied, serial_record(), [])
    assert main(["bundle", str(copied)]) == 2, "it says that all is well"
    assert "no turn of" in capsys.readouterr().err
    write_serial(copied, serial_record((6, 1), (2, 0)), [])
    script = bundled(copied)
    shown = constants(script)
    assert (shown["SESSION"], shown["TURN"], shown["WHY"]) == (2, 0, "far off 2:0")
    assert "not as when it is asked alone" in shown["DOC"]
    assert "corrupt by the serial check (far off 2:0)" in capsys.readouterr().out
    evidence = json.loads(script.with_name("repro_evidence.json").read_text(encoding="utf-8"))
    assert (evidence["turn"]["said_alone"], evidence["turn"]["kind"]) == ("far off 2:0", None)
    write_serial(copied, serial_record((6, 1)), [])
    assert constants(bundled(copied, "--turn", "6:0"))["WHY"] == "not judged as wrong"


def test_a_turn_that_is_right_alone_goes_before_one_that_the_model_gets_wrong(
    runs: Mapping[str, Path], tmp_path: Path
) -> None:
    copied = tmp_path / "run"
    shutil.copytree(runs["wrong"], copied)
    assert {(0, 0), (5, 1)} < {one.key for one in open_run(copied).judgements if one.is_corrupted}
    write_serial(copied, serial_record((5, 1)), [])
    shown = constants(bundled(copied))
    assert (shown["SESSION"], shown["TURN"]) == (5, 1)


def test_a_sound_turn_can_be_named_and_says_so(runs: Mapping[str, Path]) -> None:
    script = bundled(runs["right"], "--turn", "2:1")
    shown = constants(script)
    assert (shown["SESSION"], shown["TURN"], shown["WHY"]) == (2, 1, "not judged as wrong")
    assert carried(script)["sessions"][0]["session"] == 2


def test_first_of_a_matrix_and_one_that_keeps_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    answers = answers_of(workload_of(request("")))
    with recalling(answers, "right") as good, recalling(answers, "wrong") as bad:
        # The same seed for both blocks, since these servers know the answers of one.
        asked = [request(server.url, target=Target(name, server.url)) for name, server in (("on", good), ("off", bad))]
        arms = ArmsRun(asked, blocks=1, out=tmp_path, on_progress=lambda _: None)
        run_arms(arms, on_loop=lambda _: None)
    assert main(["bundle", str(arms.folder), "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert "-off-" in Path(shown["run_dir"]).name
    assert Path(shown["script"]).parent == arms.folder
    for run in (arms.folder / "runs").iterdir():
        run.rename(tmp_path / run.name)
    assert main(["bundle", str(arms.folder)]) == 2
    assert "keeps no runs" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda fields: fields | {"seed": 6}, "its texts are others"),
        (lambda fields: fields | {"seed": 6, "workload_digest": None}, "other secret words|expects another answer"),
        (lambda fields: fields | {"configuration": {}}, "does not say how its workload was made"),
    ],
)
def test_another_workload_is_refused(
    change: Callable[[dict[str, Any]], dict[str, Any]], sentence: str, runs: Mapping[str, Path], tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    folder = tmp_path / "run"
    folder.mkdir()
    for path in runs["wrong"].iterdir():
        if path.is_file():
            (folder / path.name).write_bytes(path.read_bytes())
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    (folder / "manifest.json").write_text(json.dumps(change(manifest)), encoding="utf-8")
    assert main(["bundle", str(folder)]) == 2
    assert re.search(sentence, capsys.readouterr().err)


def recorded(folder: Path, secrets: Mapping[str, str]) -> Path:
    """A capture that somebody made with --keep-text: two conversations of two turns, full of secrets."""
    writer = CaptureWriter(folder, "t", CaptureHeader("http://127.0.0.1", "now"))
    prose = in_prose(dict(secrets))
    for number, session in enumerate((0, 0, 1, 1)):
        first = {"role": "user", "content": f"conversation {session}: {secrets['password']} fails\n{prose}"}
        again = [{"role": "assistant", "content": "try again"},
                 {"role": "user", "content": f"password={secrets['password']}"}]  # fmt: skip
        messages = [first, *(again if number % 2 else ())]
        reply = CapturedReply("try again", finish_reason="stop")
        body = {"model": "m", "messages": messages}
        times = (10**6 * number, 10**6 * number + 10, 10**6 * number + 20)
        writer.append(Exchange(f"x{number}", times[0], "/v1/chat/completions", body, 200, reply, times[1], times[2]))
    writer.close(CaptureHeader("http://127.0.0.1", "now", finished="then", exchanges=4), [])
    return writer.path


def test_somebodys_own_texts_leave_without_their_secrets(tmp_path: Path) -> None:
    secrets = planted(np.random.default_rng(3))
    secrets = {name: secret for name, secret in secrets.items() if name not in ("header", "cookie")}
    capture = recorded(tmp_path, secrets)
    answers = {f"s{session:04d}-t{number:02d}": ("t", json.dumps(in_prose(secrets)))
               for session in range(2) for number in range(2)} | {"preflight": ("t", "{}")}  # fmt: skip
    files = file_workload(f"recorded:{capture}", plant=None, block_tokens=None)
    with recalling(answers, "text") as server:
        asked = request(server.url, files=files, load=load_shape("closed", 2, None, None), store=tmp_path / "runs")
        run_dir = Path(run_live(LiveRun(asked)).summary.run_dir)
        script = bundled(run_dir, "--turn", "0:1")
        ended = run_script(script, "--base-url", server.url, "--pace", "0", "--rounds", "1")
    left = [name for name, secret in secrets.items() if json.dumps(secret)[1:-1] in everything(script)]
    assert left == []
    said = [carried(script)["messages"][place] for place in carried(script)["sessions"][0]["turns"][1]["messages"]]
    assert said[0]["content"].startswith("conversation 0: [password-3] fails"), "also where it came before it was known"
    assert said[2]["content"] == "password=[password-3]"
    evidence = json.loads(script.with_name("repro_evidence.json").read_text(encoding="utf-8"))
    assert evidence["script"]["scrubbed"]["private-key"] == 1
    # Nobody knows the right answer: what the server says alone, twice alike, is what it must say under load.
    assert (ended.code, "alone: it repeats itself" in ended.out) == (0, True), ended


def test_a_trace_that_holds_messages_leaves_without_their_secrets(tmp_path: Path) -> None:
    secrets = {name: secret for name, secret in planted(np.random.default_rng(3)).items() if name != "cookie"}
    extra = {"metadata": {"password": secrets["password"]}}
    rows = [{"messages": [{"role": "user", "content": f"{at}: {in_prose(secrets)}"}], "extra": extra} for at in (0, 1)]
    trace = tmp_path / "trace.jsonl"
    trace.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    answers = {f"s{session:04d}-t00": ("t", "{}") for session in range(2)} | {"preflight": ("t", "{}")}
    files = file_workload(f"mooncake:{trace}", plant=None, block_tokens=None)
    with recalling(answers, "text") as server:
        # A trace's own times, and fewer sessions than were asked for.
        asked = request(server.url, files=files, load=load_shape("trace", 3, None, None), store=tmp_path / "runs")
        run_dir = Path(run_live(LiveRun(asked)).summary.run_dir)
    script = bundled(run_dir, "--turn", "1:0")
    left = [name for name, secret in secrets.items() if json.dumps(secret)[1:-1] in everything(script)]
    assert left == []
    assert len(carried(script)["sessions"]) == 2


def test_a_workload_that_is_ours_is_never_changed(runs: Mapping[str, Path]) -> None:
    plans = {plan.session: plan for plan in workload_of(request("")).sessions}
    fields = carried(bundled(runs["wrong"]))
    for session in fields["sessions"]:
        for number, planned_turn in enumerate(session["turns"]):
            said = [fields["messages"][place] for place in planned_turn["messages"]]
            assert said == plans[session["session"]].messages(number)
            expected = plans[session["session"]].turns[number].expected
            assert planned_turn["expected"] == {"name": expected.name, "arguments": dict(expected.arguments)}
