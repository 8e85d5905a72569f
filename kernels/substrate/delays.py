"""Injected delays at named points: the declared list of points, and the text form `POINT=DISTRIBUTION:...@LAYERS`.

Owns: parsing, printing and validation. Does not own: sampling (`choices.py`) nor where a delay acts (the machine adds
it before an operation moves its first byte). Floor 1.

    h2d.index_k=constant:200us            always 200 microseconds
    h2d.c4=uniform:50us,1.5ms             between the two
    d2h.backup=exponential:2ms            mean 2 ms
    h2d.index_k=lognormal:200us,0.5@0-5,7 median 200 us, sigma 0.5, only in model layers 0 to 5 and 7
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import NoReturn

from kernels.errors import ConfigError
from kernels.substrate.choices import Choices
from kernels.substrate.contract import Delay

DEFAULT_POINTS: tuple[str, ...] = (
    "h2d.swa",
    "h2d.c4",
    "h2d.index_k",
    "h2d.c128",
    "h2d.state",
    "d2h.backup",
    "handoff",
    "compute.layer",
    "compute.indexer",
    "decode.step",
    "host.schedule",
)
"""Every place where the simulated machine accepts a delay."""


class InjectedDelays:
    """The delays of one machine, by point.

    known_points: what may be named; a kernel or copy at any other point is a bug.
    """

    def __init__(self, delays: Sequence[Delay], known_points: Sequence[str]) -> None:
        self._known = frozenset(known_points)
        self._by_point = delays_by_point(delays, known_points)

    def __repr__(self) -> str:
        return f"InjectedDelays({', '.join(self._by_point) or 'none'})"

    def check(self, point: str) -> None:
        assert point in self._known, f"'{point}' is not a declared delay point: {', '.join(sorted(self._known))}"

    def sample_ns(self, choices: Choices, key: str, point: str, layer: int | None) -> int:
        """Of one operation at this point: all delays that apply, added up."""
        total_ns = 0
        for index, delay in enumerate(self._by_point.get(point, ())):
            if not delay.layers or layer in delay.layers:
                total_ns += choices.delay_ns(f"{key}/{index}", delay)
        return total_ns


def longest_ns(delay: Delay) -> int:
    """What one sample of a delay hardly ever exceeds: the bound where there is one, else about one in a thousand."""
    first, *rest = delay.parameters
    match delay.distribution:
        case "uniform":
            return round(rest[0])
        case "lognormal":
            return round(first * math.exp(3.1 * rest[0]))
        case "exponential":
            return round(7 * first)
        case _:
            return round(first)


DISTRIBUTIONS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "constant": ("duration",),
        "uniform": ("low", "high"),
        "lognormal": ("median", "sigma"),
        "exponential": ("mean",),
    }
)
"""Parameters by distribution; all are times but `sigma`."""

UNIT_NS: Mapping[str, int] = MappingProxyType({"ns": 1, "us": 1_000, "ms": 1_000_000, "s": 1_000_000_000})

DELAY_FORM = "POINT=DISTRIBUTION:PARAMETERS[@LAYERS], for example h2d.index_k=lognormal:200us,0.5@0-5,7"

_NUMBER = re.compile(r"(-?\d+(?:\.\d*)?(?:[eE][+-]?\d+)?)([a-z]*)\Z")
_LAYERS = re.compile(r"(\d+)(?:-(\d+))?\Z")


def parse_delay(text: str, known_points: Sequence[str] = DEFAULT_POINTS) -> Delay:
    """Read one delay. Raises: ConfigError that names the wrong part and what is allowed there."""
    point, equals, rest = text.partition("=")
    point = point.strip()
    if point not in known_points:
        raise ConfigError(f"'{point}' is not a delay point", key="delay", value=point, allowed=known_points)
    if not equals:
        raise ConfigError(f"delay '{text}' has no '='; write {DELAY_FORM}", key="delay", value=text)
    law, at, layers = rest.partition("@")
    distribution, _, arguments = law.partition(":")
    distribution = distribution.strip()
    if distribution not in DISTRIBUTIONS:
        raise ConfigError(
            f"'{distribution}' is not a delay distribution",
            key="delay",
            value=distribution,
            allowed=tuple(DISTRIBUTIONS),
        )
    names = DISTRIBUTIONS[distribution]
    words = [word.strip() for word in arguments.split(",")] if arguments.strip() else []
    if len(words) != len(names):
        wanted = ", ".join(names)
        raise ConfigError(
            f"delay '{text}': {distribution} takes {wanted} but got {len(words)} value(s); write {DELAY_FORM}",
            key="delay",
            value=text,
        )
    parameters = tuple(
        _plain(word, text) if name == "sigma" else _time_ns(word, text) for name, word in zip(names, words, strict=True)
    )
    if distribution == "uniform" and parameters[0] > parameters[1]:
        raise ConfigError(f"delay '{text}': low is above high", key="delay", value=text)
    return Delay(point, distribution, parameters, _layer_ids(layers, text) if at else ())


def delay_text(delay: Delay) -> str:
    """The delay in the form that `parse_delay` reads, times in nanoseconds: what a manifest keeps."""
    names = DISTRIBUTIONS[delay.distribution]
    words = [
        f"{value:g}" if name == "sigma" else f"{value:.15g}ns"
        for name, value in zip(names, delay.parameters, strict=True)
    ]
    layers = "@" + ",".join(str(layer) for layer in delay.layers) if delay.layers else ""
    return f"{delay.point}={delay.distribution}:{','.join(words)}{layers}"


def delays_by_point(delays: Iterable[Delay], known_points: Sequence[str]) -> dict[str, tuple[Delay, ...]]:
    """Group delays for the machine. Raises: ConfigError for a point that the machine does not have."""
    table: dict[str, tuple[Delay, ...]] = {}
    for delay in delays:
        if delay.point not in known_points:
            raise ConfigError(
                f"'{delay.point}' is not a delay point", key="delay", value=delay.point, allowed=known_points
            )
        table[delay.point] = (*table.get(delay.point, ()), delay)
    return table


def _time_ns(word: str, text: str) -> float:
    match = _NUMBER.match(word)
    if match is None:
        _refuse_number(word, text, "a time such as 200us")
    number, unit = float(match[1]), match[2]
    if unit not in UNIT_NS:
        raise ConfigError(
            f"delay '{text}': '{word}' has no known time unit", key="delay", value=unit, allowed=tuple(UNIT_NS)
        )
    if number < 0:
        raise ConfigError(f"delay '{text}': '{word}' is negative", key="delay", value=word)
    return number * UNIT_NS[unit]


def _plain(word: str, text: str) -> float:
    match = _NUMBER.match(word)
    if match is None or match[2]:
        _refuse_number(word, text, "a plain number such as 0.5")
    number = float(match[1])
    if number < 0:
        raise ConfigError(f"delay '{text}': '{word}' is negative", key="delay", value=word)
    return number


def _refuse_number(word: str, text: str, wanted: str) -> NoReturn:
    raise ConfigError(f"delay '{text}': '{word}' is not {wanted}", key="delay", value=word)


def _layer_ids(words: str, text: str) -> tuple[int, ...]:
    layers: list[int] = []
    for word in words.split(","):
        match = _LAYERS.match(word.strip())
        if match is None:
            raise ConfigError(
                f"delay '{text}': '{word.strip()}' is not a layer or a range such as 0-5", key="delay", value=word
            )
        first, last = int(match[1]), int(match[2] or match[1])
        if first > last:
            raise ConfigError(f"delay '{text}': layer range '{word.strip()}' is empty", key="delay", value=word)
        layers.extend(range(first, last + 1))
    return tuple(sorted(set(layers)))
