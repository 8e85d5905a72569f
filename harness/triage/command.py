"""What some of a plan's toggles make of its commands: words of the start command, environment, options of the load.

Owns: dropping a flag with its value, appending, and that toggles add up. Pure. Floor 5. Source: ours.
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from harness.triage.plan import PORT, PYTHON, Toggle, TriagePlan


@dataclass(frozen=True, slots=True)
class ServerCommand:
    """How one arm's server is started. words: no shell reads them. environment: on top of this process's own."""

    words: tuple[str, ...]
    environment: Mapping[str, str]
    stop: tuple[str, ...]
    base_url: str
    stress: tuple[str, ...]


def command_of(plan: TriagePlan, toggles: Sequence[Toggle], port: str) -> ServerCommand:
    """The plan's command with these toggles on, in the plan's order. port: what `{port}` becomes."""

    def filled(text: str) -> str:
        return text.replace(PORT, port).replace(PYTHON, sys.executable)

    start = next((one.start for one in toggles if one.start), plan.server.start)
    words = shlex.split(filled(start))
    for toggle in toggles:
        for flag in toggle.drop:
            words = without_flag(words, flag)
    words += [word for toggle in toggles for word in shlex.split(filled(toggle.append))]
    environment = dict(plan.server.env)
    for toggle in toggles:
        environment |= toggle.env
    load = shlex.split(plan.stress.options) + [word for toggle in toggles for word in shlex.split(toggle.stress)]
    return ServerCommand(
        tuple(words),
        {name: filled(value) for name, value in environment.items()},
        tuple(shlex.split(filled(plan.server.stop))),
        filled(plan.server.base_url),
        tuple(load),
    )


def changes_nothing(plan: TriagePlan, toggle: Toggle) -> bool:
    """Whether the base has none of what a toggle takes away, and all of what it sets."""
    return command_of(plan, [toggle], PORT) == command_of(plan, [], PORT)


def without_flag(words: Sequence[str], flag: str) -> list[str]:
    """The words without `--flag`, `--flag=value`, or `--flag` and the values up to the next flag."""
    kept: list[str] = []
    is_dropping = False
    for word in words:
        is_whole = word.startswith(f"{flag}=")
        if is_whole or (word.startswith("-") and not _is_number(word)):
            is_dropping = word == flag
        if not is_dropping and not is_whole:
            kept.append(word)
    return kept


def _is_number(word: str) -> bool:
    """`--chunked-prefill-size -1`: a value, not a flag."""
    return word[1:].replace(".", "", 1).isdigit()
