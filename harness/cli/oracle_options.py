"""Options of `stress` about how replies are judged: what is asked, and what is asked again alone.

Owns: the options. Does not own: what they mean (`harness.live.serial`, `harness.live.tasks`). Floor 5.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])


def oracle_options(command: F) -> F:
    options = (
        click.option("--task", "task", default="auto", show_default=True,
                     type=click.Choice(("auto", "call", "named-call", "word", "repeat", "none")),
                     help="What sessions are asked for. auto: the hardest that the model masters alone, found out by a "
                     "few requests and said aloud; call with --arm."),
        click.option("--serial-check", "serial_check", default=None, type=click.IntRange(0, 10_000), metavar="N",
                     help="After the load, ask N turns and up to 2N wrong ones again: alone, all at once, alone; more "
                     "where the model fails some alone. 0: none.  [default: 16; 0 with --arm]"),
        click.option("--flush/--no-flush", "flush", default=True, show_default=True,
                     help="Empty the cache before each turn that is asked alone, where the server has an endpoint."),
        click.option("--rescore", is_flag=True,
                     help="Ask the quiet server how probable doubtful replies are (vLLM's prompt_logprobs, or one "
                     "token after another); it may cost a server much memory."),
    )  # fmt: skip
    for option in reversed(options):
        command = option(command)
    return command
