"""When sessions begin: all at once and one after another, at a constant rate, or by chance.

Owns: the intended times. Does not own: whether they were kept (records hold both times), or pauses inside a session.
Pure. Floor 5. Source: facts/loadgen.md section 4 (rows 5 and 11). A closed loop never asks more than so many sessions
at once, so a slow server slows its own load; an open one does not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from harness.live.limits import DURATION_S_MAX, RATE_MAX, SESSIONS_MAX
from harness.load.workload import SessionPlan
from kernels.errors import ConfigError

LoadKind = Literal["closed", "constant", "poisson"]
LOAD_KINDS: tuple[LoadKind, ...] = ("closed", "constant", "poisson")


@dataclass(frozen=True, slots=True)
class LoadShape:
    """closed: `sessions` at once; with a duration each one that ends is followed by another until the time is up.
    constant, poisson: `sessions` in all, `rate` of them a second. No session begins after `duration_s`."""

    kind: LoadKind
    sessions: int
    rate: float | None = None
    duration_s: float | None = None

    def words(self) -> str:
        if self.kind == "closed":
            how_long = "once each" if self.duration_s is None else f"for {self.duration_s:g} s"
            return f"closed loop, {self.sessions} sessions at once, {how_long}"
        return f"{self.kind} arrivals, {self.sessions} sessions, {self.rate:g} a second"


def load_shape(kind: LoadKind, sessions: int | None, rate: float | None, duration_s: float | None) -> LoadShape:
    """Raises: ConfigError for what does not go together, and for more than anybody should ask of a server."""
    if duration_s is not None and not 0 < duration_s <= DURATION_S_MAX:
        raise ConfigError(f"--duration must be more than 0 s and at most {DURATION_S_MAX:g} s", key="--duration")
    if kind == "closed":
        if rate is not None:
            raise ConfigError("--rate belongs to --load constant or --load poisson", key="--rate", value=rate)
        return LoadShape(kind, _bounded(60 if sessions is None else sessions), None, duration_s)
    if rate is None or not 0 < rate <= RATE_MAX:
        raise ConfigError(f"--load {kind} needs --rate, more than 0 and at most {RATE_MAX:g} sessions a second",
                          key="--rate", value=rate)  # fmt: skip
    if sessions is not None and duration_s is not None:
        raise ConfigError("with --rate, --sessions and --duration say the same; leave one of them out", key="--rate")
    wanted = sessions if sessions is not None else 60 if duration_s is None else max(1, round(rate * duration_s))
    return LoadShape(kind, _bounded(wanted), rate, duration_s)


def _bounded(sessions: int) -> int:
    if not 1 <= sessions <= SESSIONS_MAX:
        what = f"{sessions} sessions were asked for, and 1 to {SESSIONS_MAX} can be run"
        raise ConfigError(what, key="--sessions", value=sessions)
    return sessions


def with_arrivals(plans: Sequence[SessionPlan], shape: LoadShape, rng: np.random.Generator) -> tuple[SessionPlan, ...]:
    """The plans with their intended beginnings; those of a closed loop keep their own."""
    if shape.rate is None:
        return tuple(plans)
    gaps_s = np.full(len(plans), 1 / shape.rate) if shape.kind == "constant" else rng.exponential(
        1 / shape.rate, len(plans)
    )  # fmt: skip
    # The first one begins at once: nothing is learned by waiting for it.
    starts_s = np.cumsum(gaps_s) - gaps_s[0]
    return tuple(replace(plan, start_ns=round(start * 1e9)) for plan, start in zip(plans, starts_s, strict=True))
