"""Our own commands against a real server, typed as a user types them, and what is kept of each.

Owns: running one in a process of its own, its command line, exit code, wall time and JSON. Does not own: servers, or
what a figure means. Source: ours.
"""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.live.clock import now_s
from results.reader import open_run

ROOT = Path(__file__).resolve().parents[2]
_WALL_S_MAX = 3_600.0
_RUN_CODES = (0, 1, 4)


class CommandFailed(Exception):
    """A command of ours said that it could not do its work, or crashed."""


@dataclass(frozen=True, slots=True)
class Ran:
    """One command. shown: its JSON, as it came. what: why it was run. errors: of the turns of its run, by sentence."""

    what: str
    command: str
    exit_code: int
    wall_s: float
    shown: Mapping[str, Any]
    errors: Mapping[str, int]

    def kept(self, fields: Sequence[str]) -> dict[str, Any]:
        """What the record keeps: the command and the named fields of its JSON."""
        chosen = {name: self.shown[name] for name in fields if name in self.shown}
        alone = chosen.get("served_alone")
        if alone is not None:
            # The run's folder has every turn; here their number by verdict is enough.
            chosen["served_alone"] = {**alone, "turns": dict(Counter(turn["verdict"] for turn in alone["turns"]))}
        head = {"what": self.what, "command": self.command, "exit_code": self.exit_code, "wall_s": self.wall_s}
        return {**head, "shown": chosen, **({"errors": dict(self.errors)} if self.errors else {})}


def run(what: str, words: Sequence[str], *, folder: Path, beside: Callable[[], None] = lambda: None) -> Ran:
    """Run `python run.py WORDS --json`. beside: called once it has been started. Raises: CommandFailed."""
    own = ["--json", "--quiet"] + (["--out", str(folder)] if words[0] == "stress" else [])
    began_s = now_s()
    command = shlex.join(["python", "run.py", *words])
    print(f"{what}: {command}", flush=True)
    with subprocess.Popen(
        [sys.executable, "run.py", *words, *own], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as running:
        beside()
        try:
            out, err = running.communicate(timeout=_WALL_S_MAX)
        except BaseException:
            running.kill()
            raise
    if running.returncode not in _RUN_CODES or not out.strip():
        raise CommandFailed(f"exit code {running.returncode} of: {command}\n{err.strip()[-3_000:]}")
    shown = json.loads(out)
    turns = open_run(Path(shown["run_dir"])).turns if shown.get("run_dir") else []
    errors = Counter(turn.error for turn in turns if turn.error is not None)
    return Ran(what, command, running.returncode, round(now_s() - began_s, 1), shown, errors)
