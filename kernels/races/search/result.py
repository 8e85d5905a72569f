"""What an exploration found, with its three verdicts kept apart: unordered, stale bytes observed, output changed.

Owns: the records. Does not own: finding them (`explore.py`), text (report). Floor 2b.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

from kernels.races.detector.detector import Detector
from kernels.races.naming.masked import MaskedAccess
from kernels.races.naming.naming import Group
from kernels.races.scheduler.outcome import Outcome
from kernels.races.search.mending import Edge
from kernels.races.search.minimise import FailureKey
from kernels.races.search.tokens import Token
from kernels.substrate.trace import MemoryTrace

if TYPE_CHECKING:
    from kernels.races.search.difference import OrderDifference

CONFIRMATIONS = 10


class Answer(StrEnum):
    """What an exploration says in one word. `BOUNDED`: nothing was found, but not everything was looked at."""

    CLEAN = "clean"
    RACES = "races"
    BOUNDED = "bounded"


@dataclass(frozen=True, slots=True)
class MendCheck:
    """What the edges that were named do, put into the program.

    races: that the detector still finds. failures: failing schedules of `schedules`. is_exhausted: every order of the
    mended program was looked at, `orders` of them. is_stuck: the edges make a circle of waits. why: where it is no fix,
    what the detector says of the first schedule that still fails.
    """

    edges: tuple[Edge, ...]
    races: int
    schedules: int
    failures: int
    orders: int
    is_exhausted: bool
    is_stuck: bool
    why: str = ""

    @property
    def is_closed(self) -> bool:
        return not (self.races or self.failures or self.is_stuck)


@dataclass(slots=True, eq=False)
class RaceReport:
    """One signature. confirmed: how many of ten replays of the turned-round order failed in the same way; 0 where it
    could not be shown: then the race is predicted. effect: how the first replay ended. detector: of the trace it is in.
    trace: of the failing order. difference: of it to the nearest order that passes.
    """

    group: Group
    detector: Detector
    confirmed: int = 0
    token: Token | None = None
    effect: Outcome | None = None
    trace: MemoryTrace | None = None
    difference: OrderDifference | None = None
    mend: MendCheck | None = None

    @property
    def is_confirmed(self) -> bool:
        return self.confirmed == CONFIRMATIONS


@dataclass(slots=True, eq=False)
class Failure:
    """A way to fail that schedules showed: stale bytes, lost bytes, a circle of waits, the program's own assertion."""

    key: FailureKey
    token: Token
    outcome: Outcome
    strategy: str
    schedule: int
    count: int = 1


@dataclass(slots=True)
class Stats:
    """schedules: executions of the program, all kinds together. first_failure: number of the first that failed, 0 for
    none. orders: of the exhaustive search. live_runs: how often the program's own host code was started."""

    schedules: int = 0
    first_failure: int = 0
    orders: int = 0
    live_runs: int = 0
    by_strategy: dict[str, int] = field(default_factory=dict)


class RacesFound(AssertionError):
    """`assert_clean` failed. The text is the report's first lines."""


@dataclass(slots=True, eq=False)
class Exploration:
    """The result of `explore`. exhausted: every order of conflicting steps was looked at."""

    program: str
    program_hash: str
    races: list[RaceReport]
    masked: list[MaskedAccess]
    failures: list[Failure]
    exhausted: bool
    stats: Stats
    trace: MemoryTrace
    budget: int

    def __repr__(self) -> str:
        return f"Exploration({self.program}, {self.answer}, races={len(self.races)}, failures={len(self.failures)})"

    @property
    def is_unordered(self) -> bool:
        """Verdict one, by happens-before."""
        return bool(self.races)

    @property
    def saw_stale_bytes(self) -> bool:
        """Verdict two, by version tags, independent of the first."""
        outcomes = [failure.outcome for failure in self.failures]
        return any(outcome.stale or outcome.lost or outcome.has_other_content for outcome in outcomes)

    @property
    def changed_output(self) -> bool:
        """Verdict three: the program's own check failed, with or without a race."""
        return any(
            outcome.error and not outcome.has_other_content for outcome in (one.outcome for one in self.failures)
        )

    @property
    def answer(self) -> Answer:
        if self.races or self.failures:
            return Answer.RACES
        return Answer.CLEAN if self.exhausted else Answer.BOUNDED

    def assert_clean(self, *, allow_bounded: bool = False) -> None:
        """Raises: RacesFound unless nothing was found, and (if not allowed otherwise) nothing was left out."""
        if self.answer is Answer.CLEAN or (allow_bounded and self.answer is Answer.BOUNDED):
            return
        raise RacesFound(self._sentence())

    def _sentence(self) -> str:
        if self.answer is Answer.BOUNDED:
            return (
                f"{self.program}: nothing found in {self.stats.schedules} schedules, but the search was not exhaustive "
                f"(budget {self.budget}): bounded, not clean"
            )
        lines = [f"{self.program}: {len(self.races)} unordered, {len(self.failures)} ways to fail"]
        for race in self.races:
            finding = race.group.shown
            lines.append(f"  {finding.code} {finding.race.buffer}: {finding.because}; add {finding.mend}")
        lines += [f"  {', '.join(failure.key)}: replay {failure.token}" for failure in self.failures]
        return "\n".join(lines)
