"""The portfolio: which strategies exist by name, and what `auto` takes turns with.

Owns: names and the numbers that strategies need of a plan. Does not own: the strategies. Floor 2b.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kernels.errors import ConfigError
from kernels.races.scheduler.execution import Execution, Strategy
from kernels.races.scheduler.plan import Plan
from kernels.races.scheduler.script import Node
from kernels.races.scheduler.steps import StreamStep
from kernels.races.strategies.issue_order import IssueOrder
from kernels.races.strategies.pct import Pct
from kernels.races.strategies.pos import Pos
from kernels.races.strategies.random_walk import RandomWalk
from kernels.races.strategies.surw import Surw

EXHAUSTIVE = "exhaustive"
AUTO = "auto"


class Profile:
    """What one run in issue order says about a plan."""

    def __init__(self, plan: Plan) -> None:
        self.touches: list[tuple[int, int]] = []
        """Lane and mask of touched cells, for every stream step."""
        run = Execution(plan, observer=self)
        self.choice_count = len(run.run(IssueOrder()).choices)

    def stream_step(self, run: Execution, step: StreamStep) -> None:
        self.touches.append((step.stream, step.read_mask | step.write_mask))

    def host_step(self, run: Execution, thread: int, node: Node) -> None:
        """Host steps touch no cells."""

    def counts(self, interesting: int) -> dict[int, int]:
        """Lane -> how many of its steps touch these cells."""
        counts: dict[int, int] = {}
        for lane, touched in self.touches:
            if touched & interesting:
                counts[lane] = counts.get(lane, 0) + 1
        return counts


Make = Callable[[int, Profile, int], Strategy]
"""Seed, profile, mask of the racing cells (0 where none are known)."""


def _surw(seed: int, profile: Profile, racing: int) -> Strategy:
    return Surw(seed, racing, profile.counts(racing))


_BY_NAME: dict[str, Make] = {
    "random": lambda seed, _profile, _racing: RandomWalk(seed),
    "pct1": lambda seed, profile, _racing: Pct(seed, 1, profile.choice_count),
    "pct2": lambda seed, profile, _racing: Pct(seed, 2, profile.choice_count),
    "pct3": lambda seed, profile, _racing: Pct(seed, 3, profile.choice_count),
    "pos": lambda seed, _profile, _racing: Pos(seed),
    "surw": _surw,
}

_TURNS = ("surw", "pct1", "pos", "pct2", "random", "pct3")


def strategy_names() -> tuple[str, ...]:
    return (AUTO, EXHAUSTIVE, *_BY_NAME)


def check_strategy(name: str) -> None:
    """Raises: ConfigError for an unknown name."""
    if name not in strategy_names():
        raise ConfigError(f"unknown strategy '{name}'", key="strategy", value=name, allowed=strategy_names())


def samplers(name: str, seed: int, profile: Profile, racing: int) -> Sequence[Strategy]:
    """The strategies that take turns under this name. `auto`: all, each with a seed of its own."""
    names = _TURNS if name in (AUTO, EXHAUSTIVE) else (name,)
    return [_BY_NAME[one](seed * len(names) + index, profile, racing) for index, one in enumerate(names)]
