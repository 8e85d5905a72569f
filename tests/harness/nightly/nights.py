"""Nights that nobody has waited for: a clock that is moved by hand, checks with a planted outcome.

Owns: defaults. Floor: tests.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from harness.nightly.checks.contract import Check, NightContext
from harness.nightly.checks.speed import RATIOS, WALL
from harness.nightly.config import MatrixPart, NightlyConfig, NightPart, SearchPart, SpeedPart
from harness.nightly.night import Night, NightRequest, run_night
from harness.nightly.record import CheckResult, Status
from results.matrix.record import MatrixRecord
from tests.results.matrix_builder import Corrupted, matrix

ARMS = ("bad", "good")


class HandClock:
    """Time moves only when a test moves it; each night begins a day later."""

    def __init__(self) -> None:
        self.now_s = 0.0

    def elapsed_s(self) -> float:
        return self.now_s

    def utc_now(self) -> datetime:
        return datetime(2026, 11, 29, 2, 17, tzinfo=UTC) + timedelta(seconds=self.now_s)

    def next_day(self) -> None:
        self.now_s += 86_400


@dataclass
class Planted:
    """A check with an outcome that is known beforehand. takes_s: it moves the clock by that."""

    name: str
    clock: HandClock
    result: Callable[[NightContext], CheckResult]
    takes_s: float = 60.0

    def run(self, night: NightContext) -> CheckResult:
        self.clock.now_s += self.takes_s
        return self.result(night)


@dataclass
class Home:
    """A nightly job with planted checks: the matrix, the speed of the main command, and whatever is added."""

    path: Path
    clock: HandClock = field(default_factory=HandClock)
    budget_s: float = 7_200
    keep_nights: int = 14
    lines: list[str] = field(default_factory=list)

    def night(self, corrupted: Corrupted, ratios: Sequence[float] = (), *more: Planted,
              expect: Mapping[str, str] | None = None) -> Night:  # fmt: skip
        """One night, a day after the last one."""
        self.clock.next_day()
        record = matrix(corrupted, expect=expect)
        checks: list[Check] = [Planted("matrix", self.clock, lambda _: matrix_result(record))]
        if ratios:
            checks.append(Planted("speed", self.clock, lambda _: speed_result(ratios)))
        checks += more
        return run_night(self.request(checks, arms=tuple(corrupted)))

    def request(self, checks: Sequence[Check], arms: tuple[str, ...] = ARMS) -> NightRequest:
        names = tuple(check.name for check in checks)
        config = NightlyConfig(
            night=NightPart(budget="2h", checks=names, keep_nights=self.keep_nights),
            matrix=MatrixPart(arms=arms, seeds="8", sessions=10),
            speed=SpeedPart(scenario="hicache_bf16", sessions=12, seed=1, repeats=5),
            race=SearchPart(scenario="hicache_bf16", budget=10),
            prove=SearchPart(scenario="hicache_bf16_gated", budget=10),
            mutants=SearchPart(scenario="hicache_bf16_gated", budget=10),
            settings={},
        )
        return NightRequest(config, self.path, self.budget_s, 1, checks, self.clock, self.lines.append)


def matrix_result(record: MatrixRecord) -> CheckResult:
    """What the real check says of a matrix."""
    from harness.nightly.checks.matrix import judge_matrix

    return judge_matrix(record, wall_s=60.0, command="python run.py matrix", why_partial="the budget ended first")


def speed_result(ratios: Sequence[float], command: str = "python run.py") -> CheckResult:
    return CheckResult(
        "speed", Status.PASSED, "timed", 60.0, figures={WALL: 2.0, RATIOS: sorted(ratios)[len(ratios) // 2]},
        samples={RATIOS: tuple(ratios)}, command=command,
    )  # fmt: skip


def planted(name: str, clock: HandClock, status: Status, takes_s: float = 60.0) -> Planted:
    return Planted(name, clock, lambda _: CheckResult(name, status, f"planted {status}", takes_s), takes_s)


def seeds(*counts: int) -> dict[int, int]:
    return dict(enumerate(counts))
