"""Triage of a server whose faults are known: what cures alone, what only together, what is no toggle's business."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from harness.cli.main import main
from harness.triage.command import ServerCommand
from harness.triage.conclusion import are_judged
from harness.triage.server import Server, ServerFailed
from results.matrix.folder import open_matrix
from results.reader import open_run
from tests.harness.cli.child import TEST_S, child

SERVER = Path(__file__).parent / "recall_server.py"
BLOCKS = 9
"""Two arms beside the base are told from it at 5 % by nine blocks, also after Holm's correction over four."""
LOAD = " ".join((
    "--sessions 3 --prompt-tokens 1800 --max-tokens 64",
    *(f"--set workload.{key}" for key in (
        "turns_min=1", "turns_max=1", "groups=1", "decoys=0", "anchored_share=0", "anchored_per_result=0",
        "think_s=0", "start_spread_s=0", "fork_share=0",
    )),
))  # fmt: skip


def plan(folder: Path, words: str, toggles: str, *, blocks: int = BLOCKS) -> Path:
    file = folder / "plan.toml"
    file.write_text(
        f'[server]\nstart = "{{python}} {SERVER} {{port}} {words}"\nready_s = 30\nstop_s = 10\n'
        f'[stress]\nblocks = {blocks}\nenough = 1\noptions = "{LOAD}"\n{toggles}'
    )
    return file


def triage(
    file: Path, folder: Path, capsys: pytest.CaptureFixture[str], *words: str
) -> tuple[int, dict[str, dict[str, str]], dict[str, object]]:
    """Exit code, arms by name, and the conclusion."""
    code = main(["triage", "--plan", str(file), "--json", "--quiet", "--out", str(folder), *words])
    shown = json.loads(capsys.readouterr().out)
    return code, {one["name"]: one for one in shown["conclusion"]["outcomes"]}, shown


@pytest.mark.slow
@pytest.mark.timeout(TEST_S)
def test_one_toggle_cures_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    toggles = (
        "[toggle.off]\ndrop = ['--fault']\nimplicates = ['ARRIVAL-GATE', 'GEOMETRY']\n"
        "[toggle.useless]\nenv.X = 'K9'\nimplicates = ['GEOMETRY']\n"
        "[toggle.broken]\nappend = '--dies'\n"
        "[toggle.idle]\ndrop = ['--never-there']\n"
    )
    code, arms, shown = triage(plan(tmp_path, "--fault a", toggles), tmp_path / "out", capsys)
    assert code == 1
    assert {name: one["effect"] for name, one in arms.items()} == {
        "off": "cures", "useless": "no cure", "broken": "not run", "idle": "not run", "base-again": "no cure",
    }  # fmt: skip
    assert "no memory left" in arms["broken"]["detail"]
    conclusion = shown["conclusion"]
    assert isinstance(conclusion, dict)
    assert conclusion["cure"] == ["off"]
    assert conclusion["drift"] is None
    assert conclusion["classes"][0] == {"race_class": "ARRIVAL-GATE", "by": ["off"], "against": []}
    assert conclusion["classes"][1] == {"race_class": "GEOMETRY", "by": ["off"], "against": ["useless"]}
    folder = Path(str(shown["run_dir"]))
    assert {run.scenario for run in open_matrix(folder).record.runs} == {"base", "off", "useless", "base-again"}
    assert json.loads((folder / "triage.json").read_text())["conclusion"] == conclusion
    assert "K9" not in (folder / "triage.json").read_text()


@pytest.mark.slow
@pytest.mark.timeout(TEST_S)
def test_two_faults_are_cured_only_together(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    toggles = "[toggle.one]\ndrop = ['--fault']\n[toggle.two]\ndrop = ['--other']\n[toggle.three]\nenv.X = '1'\n"
    file = plan(tmp_path, "--fault a --other b", toggles, blocks=10)
    code, arms, shown = triage(file, tmp_path / "out", capsys, "--strategy", "bisect")
    assert code == 1
    conclusion = shown["conclusion"]
    assert isinstance(conclusion, dict)
    assert conclusion["cure"] == ["one", "two"]
    assert "together" in conclusion["sentence"]
    assert arms["one+two"]["effect"] == "cures"


@pytest.mark.slow
@pytest.mark.timeout(TEST_S)
def test_a_cause_outside_of_the_toggles_and_a_clean_base(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    toggles = "[toggle.one]\nenv.X = '1'\n[toggle.two]\nenv.Y = '1'\n"
    code, arms, shown = triage(plan(tmp_path, "--fault a", toggles, blocks=2), tmp_path / "out", capsys)
    assert code == 1
    assert {name: one["effect"] for name, one in arms.items()} == dict.fromkeys(("one", "two", "all"), "no cure")
    assert "outside of them" in json.dumps(shown["conclusion"])
    code, arms, shown = triage(plan(tmp_path, "", toggles, blocks=2), tmp_path / "out", capsys)
    assert code == 0, shown
    assert arms == {}
    assert "nothing to triage" in json.dumps(shown["conclusion"])


def test_a_base_that_does_not_start_is_said_with_its_last_words(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = plan(tmp_path, "--dies", "[toggle.one]\nenv.X = '1'\n")
    assert main(["triage", "--plan", str(file), "--quiet", "--out", str(tmp_path / "out")]) == 3
    assert "the server ended with 1 before it answered; its last words: no memory left" in capsys.readouterr().err
    file.write_text(file.read_text().replace("{python}", "/no/such/program"))
    assert main(["triage", "--plan", str(file), "--quiet", "--out", str(tmp_path / "out")]) == 3
    assert "'/no/such/program' cannot be started" in capsys.readouterr().err


def test_what_was_started_has_ended_afterwards(tmp_path: Path) -> None:
    # A child of the server outlives it, and holds one end of a pipe.
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    end = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    script = "import os, sys, time; pipe = open(sys.argv[1], 'w'); os.fork() and sys.exit(3); time.sleep(600)"
    command = ServerCommand((sys.executable, "-c", script, str(pipe)), {}, (), "http://127.0.0.1:1/v1", ())
    server = Server(command, log=tmp_path / "log", ready_s=30, stop_s=5, should_stop=lambda: False,
                    on_loop=lambda _: None)  # fmt: skip
    with pytest.raises(ServerFailed, match="ended with 3 before it answered"), server:
        pass
    os.set_blocking(end, True)
    assert os.read(end, 1) == b""
    os.close(end)


@pytest.mark.slow
@pytest.mark.timeout(TEST_S)
def test_ctrl_c_keeps_what_was_done_and_ends_the_server(tmp_path: Path) -> None:
    file = plan(tmp_path, "--fault a", "[toggle.one]\nenv.X = '1'\n", blocks=200)
    with child("triage", "--plan", str(file), "--json", "--out", str(tmp_path / "out")) as running:
        while "turns corrupted" not in running.first_line("stderr"):
            assert running.process.poll() is None
        running.interrupt()
        ended = running.end()
    assert ended.code == 130
    shown = json.loads(ended.out)
    assert shown["matrix"]["partial"] is True
    assert shown["matrix"]["runs"]
    assert shown["conclusion"]["sentence"] == "interrupted: one was not run"


@pytest.mark.slow
@pytest.mark.timeout(TEST_S)
def test_a_toggle_whose_load_makes_no_sense_does_not_cost_what_was_done(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # Each option reads well, and they do not go together, which shows when the arm's turn has come.
    toggles = "[toggle.odd]\nstress = '--rate 3'\n[toggle.off]\ndrop = ['--fault']\n"
    code, arms, shown = triage(plan(tmp_path, "--fault a", toggles, blocks=2), tmp_path / "out", capsys)
    assert code == 1
    assert arms["odd"]["effect"] == "not run"
    assert "--rate belongs to" in arms["odd"]["detail"]
    assert arms["off"]["effect"] == "clean, but too few blocks"
    runs = [open_run(path) for path in Path(str(shown["run_dir"]), "runs").iterdir()]
    assert {run.manifest.scenario for run in runs} == {"base", "off", "base-again"}
    # A server with a fault must not be asked for less than the same server without it.
    assert {run.manifest.configuration["task"] for run in runs} == {"call"}
    assert len({run.manifest.seed for run in runs}) == 2


def test_an_arm_that_nobody_could_judge_is_no_cure() -> None:
    assert [are_judged(*counts) for counts in ((0, 0), (0, 6), (2, 6), (3, 6), (6, 6))] == [
        False, False, False, True, True,
    ]  # fmt: skip
