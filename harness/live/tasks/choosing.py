"""The task of a run: the one that was asked for, or the hardest that the model masters, said aloud.

Owns: the decision and its sentences. Does not own: asking (`ladder`). Floor 5. Source: ours.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from harness.live.tasks.ladder import Climbed
from harness.live.tasks.task import Task


@dataclass(frozen=True, slots=True)
class TaskChoice:
    """is_short: prompts are made shorter than they would be. notes: what a user should hear."""

    task: Task
    is_short: bool = False
    notes: tuple[str, ...] = ()


def choose(climbed: Sequence[Climbed]) -> TaskChoice:
    """What the ladder comes to."""
    assert climbed, "a ladder has a rung"
    last = climbed[-1]
    failed = climbed[:-1] if last.is_mastered else climbed
    notes = [f"alone, the model does not master this: {_what(one)} ({one.words})" for one in failed]
    if not last.is_mastered:
        notes.append(f"so --task none: {Task.NONE.words}")
        return TaskChoice(Task.NONE, last.rung.is_short, tuple(notes))
    if failed:
        notes.append(f"so the sessions are to {_what(last)} ({last.words})")
    return TaskChoice(last.rung.task, last.rung.is_short, tuple(notes))


def _what(climbed: Climbed) -> str:
    return f"{climbed.rung.task.words}, with {climbed.rung.tokens:,} tokens of notes"
