"""The ladder of tasks as answers of a probe.

Owns: the questions' names, and what they prove. Does not own: the ladder, other questions (`harness/live/probing`).
Floor 5. Source: ours.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from harness.live.arrivals import load_shape
from harness.live.probed import Probed
from harness.live.tasks.ladder import SHORT_TOKENS, Climbed, Climber, rungs_of
from harness.live.tasks.task import Task
from harness.live.workload import live_workload

LONG_TOKENS: Final = 16_000
PREFIX: Final = "task: "
_SESSIONS: Final = 24


async def probe_tasks(climber: Climber) -> list[Probed]:
    """One answer a rung, from the hardest down to the first that is mastered."""
    load = load_shape("closed", _SESSIONS, None, None)
    climbed = await climber.climb(
        rungs_of(tokens=LONG_TOKENS, may_shorten=True),
        lambda *, is_short: live_workload(
            load, source="builtin", prompt_tokens=SHORT_TOKENS if is_short else LONG_TOKENS, overrides={}
        ),
    )
    return [Probed(_question(one), "yes" if one.is_mastered else "no", one.words) for one in climbed]


def _question(climbed: Climbed) -> str:
    return f"{PREFIX}{climbed.rung.task}, {climbed.rung.tokens:,} tokens"


def task_sentence(found: Sequence[Probed]) -> str | None:
    """What `stress` would ask of this model; None where nobody asked."""
    asked = [one for one in found if one.question.startswith(PREFIX)]
    if not asked:
        return None
    last = asked[-1]
    if last.answer == "yes":
        name, _, tokens = last.question.removeprefix(PREFIX).partition(", ")
        return f"The hardest task that the model masters alone is '{name}' at {tokens}: {Task(name).words}."
    return "The model masters no task: only foreign secrets, salad, loops and broken markup can count."


def masters_calls(found: Sequence[Probed]) -> bool:
    """Whether some rung with calls was mastered, or none was asked."""
    asked = [one for one in found if one.question.startswith((f"{PREFIX}{Task.CALL}", f"{PREFIX}{Task.NAMED_CALL}"))]
    return not asked or any(one.answer == "yes" for one in asked)
