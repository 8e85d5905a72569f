"""From the words of a stress command to the shape of its load, and back.

Owns: reading what only the load takes, and the words that repeat it. Does not own: what goes together
(`arrivals.py`, `load/`), options (`harness/cli/load_options.py`). Pure. Floor 5. Source: ours.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Final

from harness.live.arrivals import LoadShape, load_shape
from harness.live.load.churn import churn_of
from harness.live.load.pattern import pattern_of
from harness.live.load.think import PLANNED, think_times
from harness.live.load.warm_up import warm_up_of
from kernels.errors import ConfigError

_NUMBER: Final = r"\d{1,6}(?:\.\d{1,6})?"
_RATE = re.compile(rf"({_NUMBER})(?:\.\.({_NUMBER}))?")
_REPEATED: Final[Mapping[str, str]] = MappingProxyType({
    "load_kind": "--load", "rate": "--rate", "burstiness": "--burstiness", "time_scale": "--time-scale",
    "think": "--think", "warm_up": "--warm-up", "churn": "--churn", "churn_phase": "--churn-phase",
    "pattern": "--pattern", "in_flight": "--in-flight",
})  # fmt: skip
_UNSAID: Final[Mapping[str, str]] = MappingProxyType({"load_kind": "closed", "think": PLANNED, "pattern": "plain"})


def load_of(arguments: Mapping[str, Any], duration_s: float | None) -> LoadShape:
    """Raises: ConfigError for what does not go together."""
    shape = load_shape(
        arguments["load_kind"],
        arguments["sessions"],
        rate_of(arguments["rate"]),
        duration_s,
        burstiness=arguments["burstiness"],
        time_scale=arguments["time_scale"],
    )
    name = arguments["pattern"]
    if name != "plain" and (shape.kind != "closed" or duration_s is not None):
        # An order of all turns has no room for sessions that begin by themselves, or for ever.
        what = f"--pattern {name} sends every session once, in an order of its own"
        raise ConfigError(f"{what}; leave --load, --rate and --duration out", key="--pattern", value=name)
    return replace(
        shape,
        think=think_times(arguments["think"]),
        warm_up=warm_up_of(arguments["warm_up"], sessions=shape.sessions, duration_s=duration_s),
        churn=churn_of(arguments["churn"], arguments["churn_phase"]),
        pattern=pattern_of(name, arguments["in_flight"], shape.sessions),
    )


def rate_of(text: str | None) -> float | tuple[float, float] | None:
    """`2`, or `0.5..4` for a ramp. Raises: ConfigError."""
    if text is None:
        return None
    match = _RATE.fullmatch(text.strip())
    if match is None:
        raise ConfigError(f"--rate '{text}' is neither a number nor FIRST..LAST", key="--rate", value=text)
    return float(match[1]) if match[2] is None else (float(match[1]), float(match[2]))


def load_words(arguments: Mapping[str, Any]) -> list[str]:
    """The options that ask for the same load again, without those that say what is the case anyway."""
    words: list[str] = []
    for name, option in _REPEATED.items():
        value = arguments[name]
        if value is not None and value != _UNSAID.get(name):
            words += [option, str(value)]
    return words
