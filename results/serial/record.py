"""The records of a serial check: which turns were asked again, in which way, and what that says of the run.

Owns: the fields of `divergence.json` and of a line of `serial.jsonl`. Does not own: files (`store`), verdicts
(`judging`), rates (`baseline`). Floor 3. Source: ours.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from results.findings import Judgement, Verdict
from results.records import TurnRecord

SCHEMA = "kvrace-serial/1"


class Pass(StrEnum):
    """How a turn was asked."""

    LOADED = "loaded"
    """In the run itself, beside the other sessions."""
    ALONE = "alone"
    TOGETHER = "together"
    """With all other turns of the check at once: the load's A/A, with log-probabilities."""
    ALONE_AGAIN = "alone again"


class Freshness(StrEnum):
    """On which cache the replies alone were computed: its pages may be the very thing that is wrong."""

    FLUSHED = "flushed"
    SALTED = "salted"
    """A salt of each request kept its prompt apart from all others in the cache."""
    KEPT = "kept"
    """As the load left it."""


@dataclass(frozen=True, slots=True)
class SerialReply:
    """One stored reply of the check, judged as the run's own are."""

    how: Pass
    turn: TurnRecord
    judgement: Judgement


@dataclass(frozen=True, slots=True)
class Rescored:
    """How improbable a loaded reply is to the quiet model: its worst token, held against the best rival there.

    gap: in nats; 0 where each token is the best one. control_gap: the same of the reply that the server gave alone:
    what the way of asking itself makes; None where that could not be told. token: the worst one, at `place` of the
    reply; rival: the best of its place.
    """

    session: int
    turn: int
    gap: float
    control_gap: float | None
    tokens: int
    place: int
    token: str
    rival: str


@dataclass(frozen=True, slots=True)
class SerialTurn:
    """One turn's verdict. is_sampled: chosen by chance, not because it was wrong.

    alone, wrong_alone: replies alone that could be judged, and those of them that are wrong. cached_tokens: the most
    that one of them took from the cache; None where nobody tells.
    """

    session: int
    turn: int
    is_sampled: bool
    was_wrong: bool
    alone: int
    wrong_alone: int
    cached_tokens: int | None
    verdict: Verdict
    reason: str
    is_repeatable: bool = False


@dataclass(frozen=True, slots=True)
class Share:
    """Events among units, with a 95 % interval."""

    events: float
    units: float
    low: float
    high: float

    @property
    def rate(self) -> float:
        return self.events / self.units if self.units else 0.0


@dataclass(frozen=True, slots=True)
class BaseRate:
    """Does load make turns wrong, or is the model wrong as often alone?

    loaded, alone: wrong turns of the run, and of the sample alone. only_loaded, only_alone: turns that are wrong in one
    of the two and right in the other; their difference is the excess. excess: with its 95 % interval. turns_needed:
    about how many sampled turns would decide; None where it is decided.
    """

    loaded: Share
    alone: Share
    only_loaded: Share
    only_alone: Share
    excess: float
    excess_low: float
    excess_high: float
    turns_needed: int | None


@dataclass(frozen=True, slots=True)
class SerialRecord:
    """The whole check.

    is_explained: the run's wrong turns are no corruption by what the check saw: the model is wrong alone as well, or it
    cannot be told apart. is_trusted: alone, the model gives the planted answers.
    wrong, wrong_asked, wrong_alone: wrong turns of the run, how many of them were asked again, and how many of those
    were wrong again. quiet: how it was known that nobody else was being served. rescoring: what it could be done by, or
    why not. ended_by: why it ended before its plan did.
    """

    verdict: Verdict
    reason: str
    is_explained: bool
    is_trusted: bool
    sampled: int
    sample_wrong_alone: int
    wrong: int
    wrong_asked: int
    wrong_alone: int
    serial_differs: int
    load_repeats_differ: int
    load_differs: int
    noise_nats: float | None
    noise_tokens: int
    freshness: Freshness
    quiet: str
    rescoring: str
    turns: tuple[SerialTurn, ...]
    rescored: tuple[Rescored, ...] = ()
    base_rate: BaseRate | None = None
    requests: int = 0
    wall_s: float = 0.0
    ended_by: str | None = None
    schema: str = field(default=SCHEMA)
