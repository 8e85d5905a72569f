"""Options of a run's watch over the server's liveness.

Owns: the options. Does not own: what they mean (`harness/live/beside_request`). Floor 5.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])

TOXIC_KINDS: Final = ("long-prompt", "long-answer", "burst", "abort")


def liveness_options(command: F) -> F:
    options = (
        click.option("--hang-timeout", default=None, type=click.FloatRange(0, 3_600), metavar="S",
                     help="A hang: no byte on any stream for S while requests are open; the run ends after 2 to 3 S of "
                     "it. 0: off.  [default: half of --read-timeout]"),
        click.option("--recovery/--no-recovery", default=None, help="Ask two small requests after the load, and look "
                     "for requests that the server still holds.  [default: yes; with --arm, after a cut only]"),
        click.option("--recovery-wait", default=None, type=click.FloatRange(0, 600), metavar="S",
                     help="Before the second of them, and for the server's gauges to come down.  [default: 2]"),
        click.option("--toxic", default=None, type=click.Choice(TOXIC_KINDS),
                     help="A noisy neighbour, in one of two blocks of time: what does it cost the sessions' first "
                     "tokens?"),
        click.option("--toxic-command", default=None, metavar="CMD",
                     help="A neighbour of your own, by the shell; ended with its block."),
        click.option("--toxic-tokens", default=None, type=click.IntRange(100, 1_000_000), metavar="N",
                     help="Of the neighbour's long prompts (long-prompt, abort), about.  [default: 16,000]"),
        click.option("--toxic-block", default=None, type=click.FloatRange(0.5, 3_600), metavar="S",
                     help="Length of a block.  [default: a sixteenth of --duration, 2 s at least; else 10 s]"),
    )  # fmt: skip
    for option in reversed(options):
        command = option(command)
    return command
