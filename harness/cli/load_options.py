"""Options of the load: when sessions begin, and how they behave once they have.

Owns: the options. Does not own: what they mean, and what goes together (`harness.live.load_request`). Floor 5.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])

_LOADS = ("closed", "constant", "poisson", "gamma", "ramp", "trace")
_PATTERNS = ("plain", "round-robin", "prefix-burst", "evict-return")
_PHASES = "queued,prefill,first-token,mid-answer"


def load_options(command: F) -> F:
    options = (
        click.option("--load", "load_kind", default="closed", show_default=True, type=click.Choice(_LOADS),
                     help="When sessions begin."),
        click.option("--rate", default=None, metavar="R", help="Sessions a second, for constant, poisson and gamma; "
                     "FIRST..LAST for a ramp over the duration."),
        click.option("--burstiness", default=None, type=click.FloatRange(0.01, 100), metavar="SHAPE",
                     help="For gamma: shape of the gaps; 1 is poisson, less comes in bursts.  [default: 0.25]"),
        click.option("--time-scale", default=None, type=click.FloatRange(0.001, 1_000), metavar="X",
                     help="For trace: its times, pauses too, X times as long.  [default: 1]"),
        click.option("--think", default="plan", show_default=True, metavar="KIND:SECONDS",
                     help="Pause between turns: plan, constant:2 or exponential:2."),
        click.option("--warm-up", default=None, metavar="TIME",
                     help="30s, 2m or '8 sessions' that are sent, judged and kept, and in no rate or latency."),
        click.option("--churn", default=None, type=float, metavar="SHARE",
                     help="Share of the turns whose client hangs up in the middle; these are not judged."),
        click.option("--churn-phase", default=None, metavar="PHASES", help=f"When.  [default: {_PHASES}]"),
        click.option("--pattern", default="plain", show_default=True, type=click.Choice(_PATTERNS),
                     help="Order of the turns: the longest way back, one prefix at once, or cold-warm-evict-return."),
        click.option("--in-flight", default=None, type=click.IntRange(2, 512), metavar="N",
                     help="With --pattern: requests at once, and the size of a burst.  [default: 8, at most half the "
                     "sessions]"),
    )  # fmt: skip
    for option in reversed(options):
        command = option(command)
    return command
