"""From the words of a command to the task of a run.

Owns: which words go together, and when the ladder is climbed. Does not own: the ladder. Floor 5. Source: ours.
"""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from harness.live.credentials import Credentials, Scrubber
from harness.live.errors import ServerRefuses
from harness.live.preflight import refuse_speechless, refuse_unusable
from harness.live.request import LiveRequest
from harness.live.run import LiveRun
from harness.live.tasks.choosing import choose
from harness.live.tasks.ladder import SHORT_TOKENS, Climber, WorkloadOf, rungs_of
from harness.live.tasks.task import AUTO, Task
from harness.simulation.run import MakeTransport
from harness.transport.contract import TransportOptions
from kernels.errors import ConfigError

_USUAL_TOKENS: Final = 24_000
"""Of a first message at most, unless a user says something else (scenarios/base.toml)."""


def task_asked(arguments: Mapping[str, Any], *, arms: int, is_file: bool) -> Task | None:
    """The task that was named, or goes without saying; None where the model is to show what it can.

    Raises: ConfigError for a task beside sessions that stand in a file.
    """
    asked = arguments["task"]
    if is_file:
        if asked != AUTO:
            raise ConfigError("the sessions of a file have the tasks of the file; leave --task out", key="--task")
        return Task.CALL
    if asked != AUTO:
        return Task(asked)
    # Arms are compared with each other, so all have the same task, and a weak model is as weak in each.
    return Task.CALL if arms > 1 else None


async def refuse_for(
    task: Task | None, make: MakeTransport, options: TransportOptions, model: str, credentials: Credentials
) -> list[str]:
    """One request of the kind that the task needs. Gives what is odd, in words. Raises: KVRaceError.

    Args:
        task: None where a model that cannot call a tool will be asked for words.
    """
    if task is not None and not task.takes_tools:
        await refuse_speechless(make, options, model, credentials)
        return []
    try:
        return await refuse_unusable(make, options, model, credentials)
    except ServerRefuses as problem:
        if task is not None:
            raise
        await refuse_speechless(make, options, model, credentials)
        return [problem.what]


def with_found_task(request: LiveRequest, workload_of: WorkloadOf, tokens: int | None) -> tuple[LiveRequest, list[str]]:
    """The request with the hardest task that its model masters, and what a user should hear.

    Effect: asks the server a few of the run's own first questions, one at a time, until it gets a rung right.

    Args:
        tokens: of the first messages, where a user has said so; else they may be made shorter.
    Raises: ConfigError.
    """
    # What cannot be run, or costs too much, is refused before anything is asked.
    LiveRun(request)
    climber = Climber(
        request.transport, request.transport_options(), request.model, Scrubber(request.credentials.secrets),
        request.seed, request.max_tokens, flush=request.serial.flush,
    )  # fmt: skip
    rungs = rungs_of(tokens=tokens or _USUAL_TOKENS, may_shorten=tokens is None)
    choice = choose(asyncio.run(climber.climb(rungs, workload_of)))
    words = [] if choice.task is Task.CALL else ["--task", str(choice.task)]
    words += ["--prompt-tokens", str(SHORT_TOKENS)] if choice.is_short else []
    found = replace(
        request,
        task=choice.task,
        workload=workload_of(is_short=choice.is_short),
        # What was found out need not be found out again.
        repeat=f"{request.repeat} {shlex.join(words)}" if words else request.repeat,
    )
    return found, list(choice.notes)
