"""Plans: each mistake in one sentence with its place, and what toggles make of a command."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.cli.main import main
from harness.triage.command import changes_nothing, command_of, without_flag
from harness.triage.fewest import fewest
from harness.triage.plan import TriagePlan, read_plan
from kernels.errors import ConfigError

START = '[server]\nstart = "serve --port {port} --tier --ratio 2"\n'
TOGGLE = '[toggle.off]\ndrop = ["--tier", "--ratio"]\n'


def plan_of(folder: Path, text: str) -> TriagePlan:
    file = folder / "plan.toml"
    file.write_text(text)
    return read_plan(file)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("[server", "not valid TOML"),
        (TOGGLE, "missing key 'server.start'"),
        (START, r"no \[toggle.NAME\] section"),
        (START + "[toggle.off]\n", "toggle 'off' changes nothing"),
        (START + TOGGLE + "[servers]\nx = 1\n", "plan.toml:6: unknown section 'servers' .did you mean 'server'"),
        (START + "stp = 'x'\n" + TOGGLE, "plan.toml:3: unknown key 'server.stp' .did you mean 'stop'"),
        (START + "ready_s = 0\n" + TOGGLE, "plan.toml:3: server.ready_s = 0"),
        (START + "ready_s = 'soon'\n" + TOGGLE, "plan.toml:3: server.ready_s = 'soon'"),
        (START + TOGGLE + "[toggle.base]\nappend = 'x'\n", "plan.toml:6: 'base' cannot name a toggle"),
        (START + TOGGLE + "implicates = ['DEADLOCK']\n", "plan.toml:5: .*ARRIVAL-GATE"),
        (START + TOGGLE + 'append = "it\'s"\n', "plan.toml:5: toggle.off.append cannot be read as a command"),
        (START + TOGGLE + "env.X = 1\n", "plan.toml:5: toggle.off.env.X is no text"),
        (START + "[toggle.a]\nstart = 'x'\n[toggle.b]\nstart = 'y'\n", "more than one toggle has a start command"),
        (START + "[stress]\nblocks = 1\n" + TOGGLE, "plan.toml:4: stress.blocks = 1"),
    ],
)
def test_every_mistake_is_one_sentence_with_its_place(tmp_path: Path, text: str, sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence):
        plan_of(tmp_path, text)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ("--sesions 3", "No such option"),
        ("--sessions many", "not a valid integer"),
        ("--base-url http://127.0.0.1:1/v1", "--base-url has no place in a plan"),
        ("--arm a=http://127.0.0.1:1/v1", "--arm has no place in a plan"),
    ],
)
def test_a_load_is_read_before_a_server_is_started(
    tmp_path: Path, options: str, sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "plan.toml"
    file.write_text(START + TOGGLE + f'stress = "{options}"\n')
    assert main(["triage", "--plan", str(file), "--out", str(tmp_path / "out")]) == 2
    shown = capsys.readouterr()
    assert sentence in shown.err
    assert shown.err.count("\n") == 1
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("engine", ["sglang", "vllm", "pair"])
def test_templates_are_plans(engine: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["triage", "--template", engine]) == 0
    file = tmp_path / "plan.toml"
    file.write_text(capsys.readouterr().out)
    plan = read_plan(file)
    assert all(toggle.why for toggle in plan.toggles)
    assert main(["triage", "--plan", str(file), "--dry-run"]) == 0
    shown = capsys.readouterr().out
    assert all(f"\n{toggle.name}: " in shown for toggle in plan.toggles)


def test_toggles_add_up_in_their_order(tmp_path: Path) -> None:
    text = START + TOGGLE + 'env.A = "{port}"\n[toggle.more]\nappend = "--more 1"\nstress = "--sessions 1"\n'
    plan = plan_of(tmp_path, text + "[toggle.idle]\ndrop = ['--nothing']\n")
    command = command_of(plan, plan.toggles, "7")
    assert command.words == ("serve", "--port", "7", "--more", "1")
    assert command.environment == {"A": "7"}
    assert command.base_url == "http://127.0.0.1:7/v1"
    assert command.stress == ("--sessions", "1")
    assert [changes_nothing(plan, toggle) for toggle in plan.toggles] == [False, False, True]


@pytest.mark.parametrize(
    ("words", "left"),
    [
        ("x --a 1 2 --b", "x --b"),
        ("x --a=1 y --b", "x y --b"),
        ("x --a -1 --b", "x --b"),
        ("x --ab 1 --a", "x --ab 1"),
        ("x --b 1 --a 2 --b 3 --a", "x --b 1 --b 3"),
    ],
)
def test_a_flag_goes_with_its_value(words: str, left: str) -> None:
    assert without_flag(words.split(), "--a") == left.split()


@given(st.data())
def test_fewest_is_a_cure_of_which_nothing_can_be_left_out(data: st.DataObject) -> None:
    names = tuple("abcdefg"[: data.draw(st.integers(1, 7))])
    cures = data.draw(st.lists(st.sets(st.sampled_from(names), min_size=1), min_size=1, max_size=3))
    asked: list[tuple[str, ...]] = []

    def is_cured(part: Iterable[str]) -> bool:
        return any(cure <= set(part) for cure in cures)

    def ask(part: tuple[str, ...]) -> bool:
        asked.append(part)
        return is_cured(part)

    found = fewest(names, ask)
    assert is_cured(found)
    assert not any(is_cured(set(found) - {name}) for name in found)
    assert len(asked) == len(set(asked))
