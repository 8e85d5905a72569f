"""The commands that only tell: list, options, version, help.

Owns: their output. Floor: tests.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from harness.cli.main import main
from harness.config import SCENARIOS_DIR
from tests.harness.cli.child import PATIENCE_S, ROOT, TEST_S, run_child

pytestmark = pytest.mark.timeout(TEST_S)

_COMMANDS = (
    "list", "options", "sweep", "arms", "matrix", "compare", "nightly", "sensitivity", "serve", "ablate",
)  # fmt: skip


def _out(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert main(list(words)) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    return captured.out


def test_list_has_every_scenario_with_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    lines = _out(capsys, "list").splitlines()
    # The parameter set that they extend, and what the nightly job runs, are no scenarios.
    others = {"base", "nightly"}
    files = [path.stem for path in sorted(SCENARIOS_DIR.glob("*.toml")) if path.stem not in others]
    assert [line.split()[0] for line in lines] == files
    for line, name in zip(lines, files, strict=True):
        table = tomllib.loads((SCENARIOS_DIR / f"{name}.toml").read_text(encoding="utf-8"))
        assert line.endswith(table["summary"])
        assert line.split()[1] == table["expect"]


def test_list_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    found = json.loads(_out(capsys, "list", "--json"))
    assert {"name", "expect", "summary"} == set(found[0])
    assert [line["name"] for line in found] == [line.split()[0] for line in _out(capsys, "list").splitlines()]


def test_version_is_that_of_the_project() -> None:
    ended = run_child("--version")
    version = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    assert (ended.code, ended.out, ended.err) == (0, f"kvrace, version {version}\n", "")


def test_options_shows_what_a_scenario_sets(capsys: pytest.CaptureFixture[str]) -> None:
    rows = [re.split(r"\s{2,}", line) for line in _out(capsys, "options", "--scenario", "hicache_fp8").splitlines()]
    assert ["--index-k", "cache.index_k", "fp8"] in rows
    assert ["--workload", "workload.source", "builtin"] in rows


@pytest.mark.parametrize(
    "command",
    ["", *_COMMANDS],
)
def test_help(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    text = _out(capsys, *([command] if command else []), "--help")
    assert text.startswith("Usage: ")
    assert "--json" in text


def test_help_names_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    text = _out(capsys, "--help")
    for command in (
        "list",
        "options",
        "sweep",
        "arms",
        "matrix",
        "compare",
        "nightly",
        "sensitivity",
        "serve",
        "ablate",
    ):
        assert re.search(rf"^  {command}\s", text, re.MULTILINE), command


def test_every_field_of_a_scenario_has_an_option(capsys: pytest.CaptureFixture[str]) -> None:
    """Given as it is shown, each option must be understood: the refusal that comes is of what stands last."""
    rows = [re.split(r"\s{2,}", line) for line in _out(capsys, "options").splitlines()]
    given = [(option, value) for option, _, value in rows if value not in ("None", "[]", "()")]
    assert len(given) > 50
    words = [word for option_and_value in given for word in option_and_value]
    assert main([*words, "--scenario", "nope"]) == 2
    assert "unknown scenario 'nope'" in capsys.readouterr().err


def test_broken_pipe_is_nobody_s_fault(tmp_path: Path) -> None:
    """`run.py list | head -0`: the reader is gone before we write."""
    with (tmp_path / "err").open("wb") as err:
        writer = subprocess.Popen(
            [sys.executable, "run.py", "list"], cwd=ROOT, stdout=subprocess.PIPE, stderr=err, start_new_session=True
        )
        assert writer.stdout is not None
        writer.stdout.close()
        assert writer.wait(timeout=PATIENCE_S) == 0
    assert b"Traceback" not in (tmp_path / "err").read_bytes()
