"""The axes of a sweep: from `--axis delay:h2d.index_k --values 0us,100us` to the overrides of each point.

Owns: the names of axes, what a value means on each, and how other sizes follow the context length. Does not own:
what a key's value may be (`harness.config`). Floor 5. Source: ours.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from harness.config import Scenario
from harness.config.checks import QUESTION_TOKENS
from harness.config.fields import SECTIONS, known_types
from harness.search.parameters import load_gbps, load_gbps_moved
from kernels.errors import ConfigError
from kernels.substrate.delays import DEFAULT_POINTS, UNIT_NS

DELAY_PREFIX = "delay:"
NAMED_AXES = ("sessions", "bandwidth", "prefix_tokens")
AXIS_FORM = f"sessions, bandwidth, prefix_tokens, {DELAY_PREFIX}POINT or SECTION.KEY"

_SESSIONS_KEY = "workload.sessions"
_TIME = re.compile(r"(\d+(?:\.\d*)?)([a-z]+)")
_US_NS = UNIT_NS["us"]


@dataclass(frozen=True, slots=True)
class AxisPoint:
    """One value. value: as written. x: as a number, None where it is a word. follows: what else was set, in words."""

    value: str
    x: float | None
    overrides: Mapping[str, str]
    follows: str = ""


@dataclass(frozen=True, slots=True)
class Axis:
    """name: as written. label: for a figure, with its unit. point: a value, on a scenario, as a point.

    key: the one key that the axis sets; None where it sets several, starting from what the scenario has.
    """

    name: str
    label: str
    point: Callable[[str, Scenario], AxisPoint] = field(repr=False)
    key: str | None = None


def parse_axis(text: str) -> Axis:
    """Raises: ConfigError for an axis that does not exist, with those that do."""
    name = text.strip()
    if name == "prefix_tokens":
        return Axis(name, "total context (tokens)", context_point)
    if name == "bandwidth":
        return Axis(name, "bandwidth of a load (GB/s)", bandwidth_point)
    if name.startswith(DELAY_PREFIX):
        return _delay_axis(name)
    key, label = (_SESSIONS_KEY, "sessions at once") if name == "sessions" else (name, name)
    keys = [known for known in known_types() if known.partition(".")[0] in SECTIONS]
    if key not in keys:
        is_key = name.partition(".")[0] in SECTIONS
        allowed = tuple(keys) if is_key else (*NAMED_AXES, f"{DELAY_PREFIX}POINT", "SECTION.KEY")
        raise ConfigError(f"unknown axis '{name}'", key="--axis", value=name, allowed=allowed)
    return Axis(name, label, lambda value, _: AxisPoint(value, _number(value), {key: value}), key)


def parse_values(text: str) -> tuple[str, ...]:
    """Raises: ConfigError for an empty list, and for a value that stands there twice."""
    values = tuple(word.strip() for word in text.split(","))
    if not all(values):
        raise ConfigError(f"--values '{text}' has an empty value; write a list such as 1,10,60", key="--values")
    twice = next((value for value in values if values.count(value) > 1), None)
    if twice is not None:
        raise ConfigError(f"--values '{text}' names {twice} twice", key="--values", value=twice)
    return values


def _delay_axis(name: str) -> Axis:
    point = name.removeprefix(DELAY_PREFIX)
    if point not in DEFAULT_POINTS:
        raise ConfigError(f"'{point}' is not a delay point", key="--axis", value=point, allowed=DEFAULT_POINTS)

    def delay_point(value: str, _: Scenario) -> AxisPoint:
        match = _TIME.fullmatch(value)
        if match is None or match[2] not in UNIT_NS:
            what = f"--values: '{value}' is not a time; on axis {name} write times such as 0us, 150us or 1.5ms"
            raise ConfigError(what, key="--values", value=value)
        x_us = float(match[1]) * UNIT_NS[match[2]] / _US_NS
        return AxisPoint(value, x_us, {f"delays.{point}": f"constant:{value}"})

    return Axis(name, f"injected delay at {point} (us)", delay_point, f"delays.{point}")


def bandwidth_point(value: str, scenario: Scenario) -> AxisPoint:
    """The rate of a load that has its link to itself; links and copies in both directions keep their ratios."""
    x_gbps = _number(value)
    if x_gbps is None or x_gbps <= 0:
        raise ConfigError(f"--values: '{value}' is not a bandwidth in GB/s", key="--values", value=value)
    overrides = load_gbps_moved(scenario, x_gbps / load_gbps(scenario))
    (scale,) = overrides.values()
    return AxisPoint(value, x_gbps, overrides, follows=f"all host copies and links times {scale}")


def context_point(value: str, scenario: Scenario) -> AxisPoint:
    """A session's whole context in its last turn, as it is expected at tool results of mean size.

    System message, tool results and questions keep the scenario's lengths, the private first message gets the rest.
    All pools keep their ratio to the context, so that the same share of the sessions stays on the device and every
    context length comes back from the host tier. Forks would hold more than a context each, so there are none.
    """
    spec, cache = scenario.workload, scenario.cache
    if not value.isdecimal():
        raise ConfigError(f"--values: '{value}' is not a number of tokens", key="--values", value=value)
    around = spec.system_tokens + _turn_tokens(scenario)
    first = int(value) - around
    if first < 1:
        what = (
            f"--values: a context of {value} tokens has no room for a first message: the system message and"
            f" {spec.turns_max} turns of {scenario.name} take {around} tokens; try --scenario short_context"
        )
        raise ConfigError(what, key="--values", value=value)
    scale = int(value) / (around + (spec.first_message_tokens_min + spec.first_message_tokens_max) / 2)
    pools = {
        name: math.ceil(getattr(cache, name) * scale) for name in ("device_tokens", "host_tokens", "decode_tokens")
    }
    overrides = {
        "workload.first_message_tokens_min": str(first),
        "workload.first_message_tokens_max": str(first),
        "workload.fork_share": "0",
        **{f"cache.{name}": str(tokens) for name, tokens in pools.items()},
    }
    sizes = ", ".join(f"{name} {tokens:,}" for name, tokens in pools.items())
    return AxisPoint(value, float(value), overrides, follows=f"first message {first:,}, {sizes}, no forks")


def _turn_tokens(scenario: Scenario) -> int:
    """What the turns add to a context: the last turn's call and result are never sent."""
    spec = scenario.workload
    mean = math.exp(min(spec.tool_result_log_mean + spec.tool_result_log_sigma**2 / 2, 50.0))
    result = min(int(mean), spec.tool_result_tokens_max)
    return (spec.turns_max - 1) * (result + spec.call_tokens_max + QUESTION_TOKENS)


def _number(value: str) -> float | None:
    try:
        number = float(value)
    except ValueError:
        return None
    return number if math.isfinite(number) else None
