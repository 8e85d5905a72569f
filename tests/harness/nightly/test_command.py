"""`run.py nightly` from options to files, with a real matrix in a process of its own. Floor: tests."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest

from harness.cli.main import main
from harness.nightly.config import DEFAULT_CONFIG
from results.matrix.folder import open_matrix
from tests.harness.cli.child import TEST_S
from tests.harness.tiny import TINY

pytestmark = pytest.mark.timeout(TEST_S)


def _tiny_config(folder: Path) -> Path:
    """The shipped configuration, with two arms and one seed of the tiny workload, and nothing else to run."""
    text = DEFAULT_CONFIG.read_text(encoding="utf-8")
    arms = '["hicache_bf16", "hicache_bf16_gated", "hicache_fp8", "off_bf16", "off_fp8"]'
    for old, new in (
        ('["matrix", "speed", "race", "prove", "zoo", "mutants"]', '["matrix"]'),
        (arms, '["hicache_bf16", "off_bf16"]'),
        ('seeds = "0-9"', 'seeds = "1"'),
        ("sessions = 60", "sessions = 4"),
    ):
        assert old in text
        text = text.replace(old, new)
    sections = tomllib.loads(TINY.read_text(encoding="utf-8"))
    settings = {f"{section}.{key}": value for section, keys in sections.items() if isinstance(keys, dict)
                for key, value in keys.items()}  # fmt: skip
    del settings["workload.sessions"]
    path = folder / "nightly.toml"
    path.write_text(text + "".join(f'"{key}" = {value}\n' for key, value in settings.items()), encoding="utf-8")
    return path


@pytest.mark.slow
def test_night_and_baseline(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    home = tmp_path / "home"
    words = [
        "nightly",
        "--config",
        str(_tiny_config(tmp_path)),
        "--out",
        str(home),
        "--workers",
        "1",
        "--budget",
        "10m",
    ]
    assert main([*words, "--json"]) == 0
    captured = capsys.readouterr()
    found = json.loads(captured.out)
    assert (found["verdict"], found["baseline"], found["partial"]) == ("ok", None, False)
    assert "matrix: passed, all 2 arms as expected over 1 seed" in captured.err
    assert "2 of 2 runs" in captured.err, "the child's progress is passed on"
    folder = Path(found["run_dir"])
    assert open_matrix(folder / "matrix").faults == ()
    for path in found["reports"].values():
        assert Path(path).stat().st_size > 0

    assert main(["nightly", "accept", str(folder)]) == 0, "its home is the one that the night lies in"
    assert capsys.readouterr().out.startswith(f"baseline {found['night']} (none before); that night was: OK  night")
    assert json.loads((home / "baseline.json").read_text())["night"] == found["night"]


def test_wrong_input_is_one_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for words, sentence in (
        (["nightly", "--budget", "soon"], "--budget 'soon' is no time; write hours, minutes or seconds"),
        (["nightly", "--config", str(tmp_path / "none.toml")], "none.toml: cannot read this file"),
        (["nightly", "accept", str(tmp_path)], "is not the folder of a night: it holds no night.json"),
        (["nightly", "accept"], "Missing argument 'RUN_DIR'"),
        (["nightly", "--quiet", "accept", "x"], "--quiet stands before 'accept'; its options follow it"),
        (["nightly", "accpet", "x"], "No such command 'accpet'"),
    ):
        assert main(words) == 2, words
        captured = capsys.readouterr()
        assert captured.out == ""
        assert sentence in captured.err.splitlines()[-1], captured.err
