"""Whether a program or a stored trace keeps the laws.

Owns: one execution of a program, or one file, looked at; what is declared from outside. Does not own: the laws
(`kernels.races.laws`), the command line. Floor 5.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from harness.races.program_file import blaming, load_program
from kernels.errors import ConfigError
from kernels.races.detector.race import Problem
from kernels.races.laws.book import LAWS, breaches
from kernels.races.laws.breach import Breach
from kernels.races.laws.history import History, history_of, stored_history
from kernels.races.laws.injection import failing
from kernels.races.laws.marks import Mark
from kernels.races.scheduler.plan import Plan
from kernels.races.search.replay import run_token, settled
from kernels.races.search.tokens import Token

CLEAN, FOUND, NOT_JUDGED = 0, 1, 4


@dataclass(frozen=True, slots=True)
class Kept:
    """What the laws say of one execution. marks: how many there are, those from outside counted. why: it cannot be
    judged; empty where it can."""

    source: str
    steps: int
    marks: int
    breaches: tuple[Breach, ...]
    why: str = ""

    @property
    def exit_code(self) -> int:
        return NOT_JUDGED if self.why else FOUND if self.breaches else CLEAN

    def text(self) -> str:
        """First line: KEPT, BROKEN or UNKNOWN, and the source."""
        if self.why:
            return f"UNKNOWN {self.source}: {self.why}"
        looked = f"{self.steps:,} copies and kernels, {self.marks:,} marks, {len(LAWS)} laws"
        if not self.breaches:
            return f"KEPT {self.source}: {looked}"
        broken = ", ".join(dict.fromkeys(str(breach.law) for breach in self.breaches))
        return "\n".join([f"BROKEN {self.source}: {broken} ({looked})", "", *(f"  {one}" for one in self.breaches)])

    def as_json(self) -> dict[str, Any]:
        verdict = {NOT_JUDGED: "unknown", FOUND: "broken", CLEAN: "kept"}[self.exit_code]
        rows = [{"law": str(one.law), "op": one.ordinal, "what": one.what} for one in self.breaches]
        return {
            "source": self.source,
            "verdict": verdict,
            "breaches": rows,
            "operations": self.steps,
            "marks": self.marks,
            "why": self.why or None,
        }


def program_kept(file: str, together: Sequence[Sequence[str]], fail: str | None) -> Kept:
    """One execution of a program of a file, in host issue order. fail: label of the copy that is made to fail."""
    program = load_program(file)
    with blaming(file):
        plan = settled(Plan(failing(program, fail) if fail is not None else program))
        replay = run_token(plan, Token(plan.hash))
        history = history_of(replay.trace)
    if fail is not None and not history.marks_of("failed"):
        labels = tuple(dict.fromkeys(step.label for step in history.steps if step.operation.kind == "copy"))
        raise ConfigError(f"no copy is called '{fail}'", key="--fail", value=fail, allowed=labels)
    return _kept(file, history, together)


def trace_kept(file: str, together: Sequence[Sequence[str]]) -> Kept:
    """A stored trace of either format. Raises: ConfigError where it cannot be read."""
    try:
        with Path(file).open("rb") as stored:
            history = stored_history(stored)
    except OSError as problem:
        what = f"the trace {file} cannot be read: {problem.strerror}"
        raise ConfigError(what, key="--trace", value=file) from problem
    if isinstance(history, Problem):
        return Kept(file, 0, 0, (), f"line {history.row}: {history.reason}")
    return _kept(file, history, together)


def _kept(source: str, history: History, together: Sequence[Sequence[str]]) -> Kept:
    for names in together:
        for name in names:
            if name not in history.buffers:
                allowed = tuple(history.buffers)
                raise ConfigError(f"there is no buffer '{name}'", key="--together", value=name, allowed=allowed)
    said = tuple(Mark("together", 0, "", {"buffers": list(names)}) for names in together)
    history = replace(history, marks=(*said, *history.marks))
    why = "it has no marks, so no law has anything to look at; --together A,B says which pools belong together"
    found = tuple(breaches(history))
    return Kept(source, len(history.steps), len(history.marks), found, "" if history.marks else why)
