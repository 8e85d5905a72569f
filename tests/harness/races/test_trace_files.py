"""A stored run in both formats: written by the main command, judged, converted there and back.

Owns: `--trace FILE.kvt`, `convert`. Floor: tests.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.cli.main import main
from tests.harness.tiny import TINY


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of a few sessions, written as columns."""
    folder = tmp_path_factory.mktemp("stored")
    trace = folder / "trace.kvt"
    words = ("--scenario", str(TINY), "--sessions", "2", "--quiet", "--json", "--out", str(folder))
    main([*words, "--trace", str(trace)])
    return trace


def told(capsys: pytest.CaptureFixture[str], code: int, *words: str) -> str:
    assert main(words) == code
    return capsys.readouterr().out


def test_both_formats_have_one_verdict(stored: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines, again = tmp_path / "trace.jsonl", tmp_path / "again.kvt"
    said = told(capsys, 0, "convert", str(stored), str(lines))
    assert said.startswith(f"WROTE {lines} as JSON Lines: {lines.stat().st_size:,} bytes")
    assert told(capsys, 0, "convert", str(lines), str(again)).startswith(f"WROTE {again} as columns")
    assert lines.read_bytes().startswith(b'{"row":"header","format":"kvrace-trace/1"')
    assert stored.stat().st_size * 5 < lines.stat().st_size
    code = main(["race", "--trace", str(lines)])
    assert code in (0, 1)
    of_lines = capsys.readouterr().out
    assert of_lines.startswith(("ORDERED", "RACE"))
    assert told(capsys, code, "race", "--trace", str(stored)) == of_lines
    assert told(capsys, code, "race", "--trace", str(again)) == of_lines


def test_a_cut_file_is_unknown_and_not_converted(
    stored: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cut, target = tmp_path / "cut.kvt", tmp_path / "cut.jsonl"
    cut.write_bytes(stored.read_bytes()[:-40])
    text = told(capsys, 4, "race", "--trace", str(cut))
    assert text.startswith("UNKNOWN the trace cannot be judged")
    assert "it is truncated (byte " in text
    assert told(capsys, 4, "convert", str(cut), str(target)).startswith("UNKNOWN the trace cannot be converted")
    assert [path.name for path in tmp_path.iterdir()] == ["cut.kvt"]


def test_mistakes_are_told(stored: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["convert", str(tmp_path / "nowhere"), str(tmp_path / "x")]) == 2
    assert "cannot be read: No such file" in capsys.readouterr().err
    assert main(["convert", str(stored), str(stored)]) == 2
    assert "exists already; give another name" in capsys.readouterr().err
    assert main(["convert", str(stored), str(tmp_path / "no" / "x")]) == 3
    assert "cannot be written" in capsys.readouterr().err
