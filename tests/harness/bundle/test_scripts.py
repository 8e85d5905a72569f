"""A script in a stranger's hands: what it sends, what it concludes, and how it ends."""

from __future__ import annotations

import ast
import hashlib
import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from harness.bundle.script import TEMPLATE
from harness.cli.main import main
from harness.live.run import LiveRun, run_live
from harness.pair.listening import listening_socket
from tests.harness.bundle.recall_server import MODEL, Case, RecallServer, recalling
from tests.harness.bundle.scripts import ScriptRun, bundled, carried, constants, everything, run_script
from tests.harness.cli.child import TEST_S, child
from tests.harness.live.fault_server import answers_of
from tests.harness.live.live_requests import request, workload_of
from tests.harness.tiny import TINY

QUICK = ("--pace", "0", "--rounds", "2")


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, RecallServer]:
    """A live run that went wrong while the server was busy, and the server with all it was asked."""
    store = tmp_path_factory.mktemp("live")
    with recalling(answers_of(workload_of(request(""))), "busy") as server:
        result = run_live(LiveRun(request(server.url, store=store)))
    assert result.summary.turns_corrupted > 0
    return Path(result.summary.run_dir), server


@pytest.fixture(scope="module")
def script(loaded: tuple[Path, RecallServer]) -> Path:
    return bundled(loaded[0])


def played(script: Path, case: Case, *words: str) -> tuple[ScriptRun, RecallServer]:
    with recalling(answers_of(workload_of(request(""))), case) as server:
        return run_script(script, "--base-url", server.url, *QUICK, *words), server


def test_rounds_send_the_very_requests_of_the_run(loaded: tuple[Path, RecallServer], script: Path) -> None:
    _, asked = loaded
    _, server = played(script, "right")
    of_the_run = {body["user"]: body for body in asked.bodies if body["user"].startswith("s")}
    names = [body["user"] for body in server.bodies]
    assert len(names) == 2 * len(set(names)), "two rounds"
    assert all(body == of_the_run[body["user"]] for body in server.bodies)
    shown = constants(script)
    assert len(set(names)) == shown["TURNS"]
    assert f"s{shown['SESSION']:04d}-t{shown['TURN']:02d}" in names


def test_fresh_rounds_differ_from_the_first_character_on(loaded: tuple[Path, RecallServer], script: Path) -> None:
    _, asked = loaded
    _, server = played(script, "right", "--fresh", "--sessions", "1")
    of_the_run = {body["user"]: body for body in asked.bodies if body["user"].startswith("s")}
    marks = set()
    for body in server.bodies:
        own = of_the_run[body["user"]]
        mark, _, rest = body["messages"][0]["content"].partition("\n")
        marks.add(mark)
        assert rest == own["messages"][0]["content"]
        assert body | {"messages": own["messages"]} == own
    assert sorted(mark[-8:] for mark in marks) == ["round 1)", "round 2)"]


@pytest.mark.parametrize(
    ("case", "code", "sentence"),
    [
        ("right", 0, "0 of 2 rounds show wrong replies"),
        ("whole", 0, "0 of 2 rounds show wrong replies"),
        ("text", 0, "unparsed"),
        ("wrong", 1, "the reported turn among the wrong ones"),
        ("busy", 1, "2 of 2 rounds show wrong replies"),
        ("broken", 4, "the stream was cut off"),
        ("refused", 2, ""),
    ],
)
def test_conclusions(case: Case, code: int, sentence: str, script: Path) -> None:
    ended, _ = played(script, case)
    assert (ended.code, "Traceback" in ended.err) == (code, False), ended
    assert sentence in ended.out
    assert case != "refused" or "name one with --api-key-env" in ended.err


@pytest.mark.parametrize(
    ("case", "alone", "cause"),
    [("busy", "alone: right and right", "load is needed"), ("wrong", "alone: wrong and wrong", "model or parser")],
)
def test_serial_control_tells_load_from_model(case: Case, alone: str, cause: str, script: Path) -> None:
    ended, _ = played(script, case, "--serial", "--stop")
    assert ended.code == 1
    assert alone in ended.out
    assert cause in ended.out
    assert "round 2" not in ended.out, "--stop ends after the first round that shows it"


def test_keys_come_from_the_environment_only(script: Path) -> None:
    with recalling(answers_of(workload_of(request(""))), "right") as server:
        words = ("--base-url", server.url, *QUICK, "--api-key-env", "SOME_KEY")
        assert run_script(script, *words).code == 2
        assert run_script(script, *words, environment={"SOME_KEY": "not-a-real-key-5"}).code == 0
    assert set(server.keys) == {"Bearer not-a-real-key-5"}


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--base-url", "server"], "has the form"),
        (["--base-url", "http://127.0.0.1:1/v1", "--rounds", "0"], "begin at 1"),
        ([], "--base-url"),
    ],
)
def test_wrong_options(words: list[str], sentence: str, script: Path) -> None:
    ended = run_script(script, *words)
    assert (ended.code, sentence in ended.err, "Traceback" in ended.err) == (2, True, False)


def test_nobody_listens_and_another_model(script: Path) -> None:
    with listening_socket("127.0.0.1", 0, what="test") as bound:
        url = f"http://127.0.0.1:{bound.getsockname()[1]}/v1"
    ended = run_script(script, "--base-url", url)
    assert (ended.code, "cannot be reached" in ended.err, "Traceback" in ended.err) == (3, True, False)
    other, _ = played(script, "right", "--model", "gpt")
    assert (other.code, f"it has: {MODEL}" in other.err) == (2, True)


def test_script_is_plain_python_of_its_time(script: Path) -> None:
    text = script.read_text(encoding="utf-8")
    tree = ast.parse(text, feature_version=(3, 9))
    names = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    names |= {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert {name.split(".")[0] for name in names} <= sys.stdlib_module_names
    assert not any(isinstance(node, ast.Match | ast.Set) for node in ast.walk(tree))
    linted = subprocess.run(
        [sys.executable, "-m", "ruff", "check", "--isolated", "--target-version", "py39", "--line-length", "120",
         "--select", "E,F,W,B,C4,PIE,RET", "--ignore", "B008,E501", "-"],
        input=text, capture_output=True, text=True,
    )  # fmt: skip
    assert linted.returncode == 0, linted.stdout
    own_lines = [line for line in TEMPLATE.read_text(encoding="utf-8").splitlines() if len(line) > 120]
    assert own_lines == []


def test_evidence_says_what_the_script_is(loaded: tuple[Path, RecallServer], script: Path) -> None:
    run_dir, server = loaded
    evidence = json.loads(script.with_name("repro_evidence.json").read_text(encoding="utf-8"))
    assert evidence["script"]["sha256"] == hashlib.sha256(script.read_bytes()).hexdigest()
    assert evidence["script"]["size_bytes"] == len(script.read_bytes())
    shown, summary = constants(script), json.loads((run_dir / "summary.json").read_text(encoding="utf-8"))
    assert (evidence["turn"]["session"], evidence["turn"]["turn"]) == (shown["SESSION"], shown["TURN"])
    assert (shown["EXPECTED"], shown["RECEIVED"]) == (
        evidence["turn"]["expected_text"], evidence["turn"]["received_text"],
    )  # fmt: skip
    assert "never" in shown["RECEIVED"]
    assert shown["MODEL"] == MODEL
    for name in ("verdict", "turns", "turns_corrupted", "kinds"):
        assert evidence["run"][name] == summary[name]
    assert evidence["run"]["counters"] == summary["counters"]
    assert (evidence["run"]["seed"], evidence["run"]["command"]) == (5, "again")
    assert evidence["server"]["base_url"] == server.url
    assert evidence["script"]["checked"].startswith("the digest of all requests")
    assert str(run_dir.parent) not in everything(script), "no path of this machine leaves it"


@pytest.fixture(scope="module")
def raced(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A simulated run that lost the race."""
    store = tmp_path_factory.mktemp("simulated")
    assert main(["--scenario", str(TINY), "--quiet", "--out", str(store)]) == 1
    (folder,) = store.iterdir()
    return folder


@pytest.mark.slow
@pytest.mark.timeout(TEST_S)
@pytest.mark.parametrize(("gate", "code"), [("false", 1), ("true", 0)])
def test_against_the_pair_with_the_defect_and_its_twin(gate: str, code: int, raced: Path) -> None:
    script = bundled(raced)
    words = ("serve", "--scenario", str(TINY), "--set", f"cache.gate_index_k={gate}", "--speed", "10", "--json")
    with child(*words) as running:
        url = json.loads(running.first_line("stdout"))["base_url"]
        ended = run_script(script, "--base-url", url, "--pace", "0.1", "--rounds", "3", "--stop", "--serial")
    assert ended.code == code, ended
    assert "alone: right and right" in ended.out
    assert code == 1 or "0 of 3 rounds show wrong replies" in ended.out


def test_payload_of_a_simulated_run_is_its_workload(raced: Path) -> None:
    fields = carried(bundled(raced))
    turns = [turn for session in fields["sessions"] for turn in session["turns"]]
    assert fields["exact_replies"] is True
    for turn in turns:
        said = [fields["messages"][place] for place in turn["messages"]]
        assert [said[0]["role"], said[-1]["role"]] == ["system", "user"]
        text = json.dumps(said, ensure_ascii=False)
        # The answer stands in the conversation: that is what makes the turn one of recall.
        assert all(str(value) in text for value in _leaves(turn["expected"]["arguments"]))


def _leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, Mapping):
        for item in value.values():
            yield from _leaves(item)
    elif isinstance(value, list):
        for item in value:
            yield from _leaves(item)
    elif isinstance(value, str):
        yield value
