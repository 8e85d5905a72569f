"""Makes the measured blocks of README.md and docs/remedies.md again: runs each command, and puts its output in place.

Owns: finding `<!-- output: COMMAND -->` blocks, running them, and what of an output may differ between two runs.
Does not own: tables that take many runs (docs/reproduction.md says how each was made). `make docs` runs it;
tests/docs compares README with a run of its own.
"""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
README = ROOT / "README.md"
_BLOCK = re.compile(r"(<!-- output: (?P<command>[^\n]+) -->\n```\n)(?P<output>.*?)(\n```)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Block:
    """One command of a document and the output that the document shows."""

    command: str
    output: str


def blocks(text: str) -> Iterator[Block]:
    """Every output block of a document."""
    for match in _BLOCK.finditer(text):
        yield Block(match["command"], match["output"])


def run(command: str) -> str:
    """Standard output of one of our commands, with a run folder that nobody needs to clean up.

    Raises: subprocess.CalledProcessError where it neither found corruption nor was clean.
    """
    words = shlex.split(command)
    assert words[:2] == ["python", "run.py"], command
    with tempfile.TemporaryDirectory() as folder:
        arguments = [sys.executable, "run.py", *words[2:], "--quiet", "--out", folder]
        done = subprocess.run(arguments, cwd=ROOT, capture_output=True, text=True)
        if done.returncode not in (0, 1):
            raise subprocess.CalledProcessError(done.returncode, arguments, done.stdout, done.stderr)
        shown = re.sub(rf"\s+{re.escape(folder)}/", "  results/runs/", done.stdout)
        return "\n".join(line.rstrip() for line in shown.splitlines())


def steady(output: str) -> str:
    """An output without what differs between two runs: wall time and the run folder's time stamp."""
    without_wall = re.sub(r"(turns?), [\d.]+ s$", r"\1, T s", output, flags=re.MULTILINE)
    lines = (line.rstrip() for line in re.sub(r"\d{8}T\d{6}Z", "STAMP", without_wall).splitlines())
    return "\n".join(lines).strip()


def rebuilt(text: str) -> str:
    """The document with every output made again."""
    return _BLOCK.sub(lambda match: f"{match[1]}{run(match['command'])}{match[4]}", text)


if __name__ == "__main__":
    for page in (README, ROOT / "docs" / "remedies.md"):
        page.write_text(rebuilt(page.read_text(encoding="utf-8")), encoding="utf-8")
