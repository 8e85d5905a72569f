"""The shape of a load: when sessions begin, and how they behave once they have.

Owns: the description, and the intended times of beginning. Does not own: whether they were kept (records hold both
times), or what happens inside a session (`harness/live/load`). Pure. Floor 5. Source: facts/loadgen.md section 4 (rows
5 to 11). A closed loop never asks more than so many sessions at once, so a slow server slows its own load; an open one
does not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal, TypeVar

import numpy as np

from harness.live.limits import DURATION_S_MAX, RATE_MAX, SESSIONS_MAX
from harness.live.load.churn import Churn
from harness.live.load.pattern import Pattern
from harness.live.load.starts import on_ramp, unit_starts
from harness.live.load.think import ThinkTimes
from harness.live.load.warm_up import WarmUp
from harness.load.workload.planned import PlannedSession
from kernels.errors import ConfigError

LoadKind = Literal["closed", "constant", "poisson", "gamma", "ramp", "trace"]
LOAD_KINDS: tuple[LoadKind, ...] = ("closed", "constant", "poisson", "gamma", "ramp", "trace")
Planned = TypeVar("Planned", bound=PlannedSession)
BURSTINESS: Final = 0.25
_SESSIONS: Final = 60
_WITH_RATE: Final = "--load constant, poisson, gamma or ramp"


@dataclass(frozen=True, slots=True)
class LoadShape:
    """closed: `sessions` at once; with a duration each one that ends is followed by another until the time is up.
    constant, poisson, gamma: `sessions` in all, `rate` of them a second. ramp: the rate goes in a line from `rate` to
    `rate_end`, over the duration. trace: as the plans say, times stretched by `time_scale`. No session begins after
    `duration_s`.

    burstiness: shape of the gamma distribution of the gaps, whose coefficient of variation is one over its root.
    think: None for the plans' own pauses. warm_up, churn, pattern: None for none.
    """

    kind: LoadKind
    sessions: int
    rate: float | None = None
    duration_s: float | None = None
    rate_end: float | None = None
    burstiness: float | None = None
    time_scale: float = 1.0
    think: ThinkTimes | None = None
    warm_up: WarmUp | None = None
    churn: Churn | None = None
    pattern: Pattern | None = None

    def words(self) -> str:
        behaviour = (self.pattern, self.think, self.warm_up, self.churn)
        return "; ".join([self._arrivals(), *(one.words() for one in behaviour if one is not None)])

    def _arrivals(self) -> str:
        if self.pattern is not None:
            return f"closed loop, {self.sessions} sessions, once each"
        if self.kind == "closed":
            how_long = "once each" if self.duration_s is None else f"for {self.duration_s:g} s"
            return f"closed loop, {self.sessions} sessions at once, {how_long}"
        if self.kind == "trace":
            scale = "" if self.time_scale == 1.0 else f", times x {self.time_scale:g}"
            return f"trace replay, {self.sessions} sessions{scale}"
        if self.kind == "ramp":
            return (
                f"ramp, {self.sessions} sessions, {self.rate:g} to {self.rate_end:g} a second over {self.span_s:.3g} s"
            )
        bursts = ""
        if self.burstiness is not None:
            bursts = f", burstiness {self.burstiness:g} (CV {self.burstiness**-0.5:.3g})"
        return f"{self.kind} arrivals, {self.sessions} sessions, {self.rate:g} a second{bursts}"

    @property
    def span_s(self) -> float:
        """How long sessions go on beginning, where a rate says so."""
        assert self.rate is not None
        last = self.rate if self.rate_end is None else self.rate_end
        return 2 * self.sessions / (self.rate + last) if self.duration_s is None else self.duration_s


def load_shape(
    kind: LoadKind,
    sessions: int | None,
    rate: float | tuple[float, float] | None,
    duration_s: float | None,
    *,
    burstiness: float | None = None,
    time_scale: float | None = None,
) -> LoadShape:
    """How sessions begin. rate: two of them for a ramp.

    Raises: ConfigError for what does not go together, and for more than anybody should ask of a server.
    """
    if duration_s is not None and not 0 < duration_s <= DURATION_S_MAX:
        raise ConfigError(f"--duration must be more than 0 s and at most {DURATION_S_MAX:g} s", key="--duration")
    if burstiness is not None and kind != "gamma":
        raise ConfigError("--burstiness belongs to --load gamma", key="--burstiness", value=burstiness)
    if time_scale is not None and kind != "trace":
        raise ConfigError("--time-scale belongs to --load trace", key="--time-scale", value=time_scale)
    if kind in ("closed", "trace"):
        if rate is not None:
            raise ConfigError(f"--rate belongs to {_WITH_RATE}", key="--rate", value=rate)
        scale = 1.0 if time_scale is None else time_scale
        return LoadShape(
            kind, _bounded(_SESSIONS if sessions is None else sessions), None, duration_s, time_scale=scale
        )
    first, last = _rates(kind, rate)
    if sessions is not None and duration_s is not None:
        raise ConfigError("with --rate, --sessions and --duration say the same; leave one of them out", key="--rate")
    expected = None if duration_s is None else max(1, round((first + last) / 2 * duration_s))
    wanted = _SESSIONS if sessions is None else sessions
    count = _bounded(wanted if expected is None else expected)
    gaps = (BURSTINESS if burstiness is None else burstiness) if kind == "gamma" else None
    return LoadShape(kind, count, first, duration_s, last if kind == "ramp" else None, gaps)


def _rates(kind: LoadKind, rate: float | tuple[float, float] | None) -> tuple[float, float]:
    if kind == "ramp":
        if not isinstance(rate, tuple) or min(rate) < 0 or not 0 < max(rate) <= RATE_MAX:
            what = f"--load ramp needs --rate FIRST..LAST, from 0 to {RATE_MAX:g} sessions a second, not both 0"
            raise ConfigError(what, key="--rate", value=rate)
        return rate
    if not isinstance(rate, float | int) or not 0 < rate <= RATE_MAX:
        what = f"--load {kind} needs --rate, one number, more than 0 and at most {RATE_MAX:g} sessions a second"
        raise ConfigError(what, key="--rate", value=rate)
    return float(rate), float(rate)


def _bounded(sessions: int) -> int:
    if not 1 <= sessions <= SESSIONS_MAX:
        what = f"{sessions} sessions were asked for, and 1 to {SESSIONS_MAX} can be run"
        raise ConfigError(what, key="--sessions", value=sessions)
    return sessions


def with_arrivals(plans: Sequence[Planned], shape: LoadShape, rng: np.random.Generator) -> tuple[Planned, ...]:
    """The plans with their intended beginnings, without those of a trace that begin too late; those of a closed loop
    keep their own."""
    if shape.pattern is not None:
        # The order says when they begin.
        return tuple(replace(plan, start_ns=0) for plan in plans)
    if shape.kind == "trace":
        return _replayed(plans, shape)
    if shape.rate is None:
        return tuple(plans)
    starts_s = _starts_s(len(plans), shape, rng)
    return tuple(replace(plan, start_ns=round(start * 1e9)) for plan, start in zip(plans, starts_s, strict=True))


def _starts_s(count: int, shape: LoadShape, rng: np.random.Generator) -> Sequence[float]:
    assert shape.rate is not None
    shapes = {"constant": None, "poisson": 1.0, "ramp": 1.0, "gamma": shape.burstiness}
    is_whole = shape.duration_s is not None or shape.kind == "ramp"
    units = unit_starts(count, shapes[shape.kind], rng, is_whole=is_whole)
    if shape.rate_end is not None:
        return [float(start) for start in on_ramp(units / count, shape.rate, shape.rate_end, shape.span_s)]
    if is_whole:
        units *= shape.span_s * shape.rate / count
    return [float(start) for start in units / shape.rate]


def _replayed(plans: Sequence[Planned], shape: LoadShape) -> tuple[Planned, ...]:
    """At the trace's own times. Raises: ConfigError where none begins in time."""
    scaled = []
    for plan in plans:
        fork = plan.fork
        if fork is not None:
            fork = replace(fork, delay_ns=round(fork.delay_ns * shape.time_scale))
        scaled.append(replace(plan, start_ns=round(plan.start_ns * shape.time_scale), fork=fork))
    if shape.duration_s is not None:
        scaled = [plan for plan in scaled if plan.start_ns < shape.duration_s * 1e9]
    if not scaled:
        what = f"no session of the trace begins within {shape.duration_s:g} s; choose a longer --duration"
        raise ConfigError(what, key="--duration", value=shape.duration_s)
    return tuple(scaled)
