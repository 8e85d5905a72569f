"""Orders of turns that make a cache do something: return after the longest time, meet in one prefix, be evicted.

Owns: which turn is sent after which, and what each is called. Does not own: keeping the order (`order.py`). Pure.
Floor 5. Source: facts/bugs.md section 5 item 4 (cold, warm, evict, host hit), and class 7 (B19, B21: one prefix asked
for several times before it has been computed).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal, cast

from harness.load.workload.planned import PlannedSession
from kernels.errors import ConfigError

PatternKind = Literal["round-robin", "prefix-burst", "evict-return"]
IN_FLIGHT: Final = 8
_RETURNING_SHARE: Final = 3
"""One in three sessions returns; the others are there to evict it."""
_TURNS_MIN: Final = 3


@dataclass(frozen=True, slots=True)
class Pattern:
    """in_flight: how many requests may be open at once."""

    kind: PatternKind
    in_flight: int

    def words(self) -> str:
        return f"{self.kind}, {self.in_flight} requests at once"

    def refuse_short(self, turns_max: int) -> None:
        """turns_max: of the longest session. Raises: ConfigError where nothing could return."""
        if self.kind == "evict-return" and turns_max < _TURNS_MIN:
            what = f"--pattern evict-return needs sessions of {_TURNS_MIN} turns or more: cold, warm, and once more"
            raise ConfigError(f"{what}; choose a larger workload.turns_max", key="--pattern")

    def workload_values(self, sessions: int) -> dict[str, str]:
        """What of a workload follows from the pattern. A fork has a parent to wait for, and no place in an order."""
        values = {"workload.fork_share": "0"}
        if self.kind == "prefix-burst":
            # A burst is one group, and its prefix is new each time.
            values["workload.groups"] = str(-(-sessions // self.in_flight))
        return values


@dataclass(frozen=True, slots=True)
class Wave:
    """Turns in the order of their sending. keys: (session, turn).

    is_apart: the first of them is sent when everything before has ended and all of them are due, so that they go
    together; otherwise as soon as the one before is sent.
    """

    phase: str
    keys: tuple[tuple[int, int], ...]
    is_apart: bool


def waves_of(pattern: Pattern, plans: Sequence[PlannedSession]) -> tuple[Wave, ...]:
    """Every turn of the plans once. Raises: ConfigError where the pattern cannot come about."""
    if any(plan.fork is not None or any(turn.waits_for for turn in plan.turns) for plan in plans):
        what = f"--pattern {pattern.kind} cannot order sessions that wait for each other, and this workload has such"
        raise ConfigError(what, key="--pattern", value=pattern.kind)
    match pattern.kind:
        case "round-robin":
            if len(plans) <= pattern.in_flight:
                what = f"--pattern round-robin with {pattern.in_flight} requests at once needs more sessions than that"
                raise ConfigError(f"{what}; there are {len(plans)}", key="--in-flight", value=pattern.in_flight)
            found = [
                Wave("return" if turn else "first", keys, is_apart=False) for turn, keys in enumerate(_rows(plans))
            ]
        case "prefix-burst":
            groups = sorted({plan.group for plan in plans})
            found = [
                Wave("after-burst" if turn else "burst", keys, is_apart=True)
                for group in groups
                for turn, keys in enumerate(_rows([plan for plan in plans if plan.group == group]))
            ]
        case "evict-return":
            found = _evictions(pattern, plans)
    return tuple(found)


def pattern_of(name: str, in_flight: int | None, sessions: int) -> Pattern | None:
    """None: the order is left to chance. Raises: ConfigError."""
    if name == "plain":
        if in_flight is not None:
            raise ConfigError("--in-flight belongs to a --pattern other than plain", key="--in-flight", value=in_flight)
        return None
    chosen = in_flight if in_flight is not None else min(IN_FLIGHT, max(2, sessions // 2))
    least = {"round-robin": chosen + 1, "prefix-burst": 2, "evict-return": _RETURNING_SHARE}[name]
    if sessions < least:
        what = f"--pattern {name} with {chosen} requests at once needs at least {least} sessions, not {sessions}"
        raise ConfigError(what, key="--pattern", value=name)
    return Pattern(cast(PatternKind, name), chosen)


def _rows(plans: Sequence[PlannedSession]) -> list[tuple[tuple[int, int], ...]]:
    """By turn: all sessions that have such a turn."""
    last = max((len(plan.turns) for plan in plans), default=0)
    return [tuple((plan.session, turn) for plan in plans if turn < len(plan.turns)) for turn in range(last)]


def _evictions(pattern: Pattern, plans: Sequence[PlannedSession]) -> list[Wave]:
    count = -(-len(plans) // _RETURNING_SHARE)
    returning, others = _rows(plans[:count]), _rows(plans[count:])
    pattern.refuse_short(len(returning))
    if not others:
        what = f"--pattern evict-return needs at least {_RETURNING_SHARE} sessions; there are {len(plans)}"
        raise ConfigError(what, key="--pattern")
    cold, warm, *returns = returning
    waves = [Wave("cold", cold, is_apart=True), Wave("warm", warm, is_apart=True)]
    for turn, keys in enumerate(returns):
        is_evicted = turn < len(others)
        if is_evicted:
            waves.append(Wave("evict", others[turn], is_apart=True))
        waves.append(Wave("return" if is_evicted else "warm", keys, is_apart=True))
    # What is left of the others evicts nobody; it is sent all the same, as every planned turn is.
    return waves + [Wave("evict", keys, is_apart=True) for keys in others[len(returns) :]]
