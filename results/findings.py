"""What a judge says: verdicts, kinds of corruption, findings with their evidence, and one judgement per turn.

Owns: the vocabulary of judging, and which kinds are corruption. Does not own: how any of it is found (`oracles`).
Floor 3. Source: ours; the kinds are the symptom classes of public reports of such races.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Verdict(StrEnum):
    """UNKNOWN means that it could not be judged. It is never a pass.

    NUMERIC: the output differs, and the controls show that rounding alone makes it differ. Only `oracles.divergence`
    can say so: one reply by itself never shows it.
    """

    OK = "ok"
    VIOLATED = "violated"
    NUMERIC = "numeric"
    UNKNOWN = "unknown"


class Severity(StrEnum):
    """How much a violated finding proves on its own."""

    PROOF = "proof"
    """No sound server can do this: the truth is known from what was planted."""
    STRONG = "strong"
    """A measure of the text that sound replies do not reach."""
    NOTE = "note"
    """Worth knowing; not corruption."""


class Kind(StrEnum):
    """What is wrong with a turn. The order is the priority: the first kind found is the turn's primary kind."""

    CROSS_TALK = "cross_talk"
    EMPTY_REPLY = "empty_reply"
    REPETITION = "repetition"
    TOKEN_SALAD = "token_salad"
    CONTROL_TOKENS = "control_tokens"
    WRONG_FIRST_TOKEN = "wrong_first_token"
    MISPLACED_MARKUP = "misplaced_markup"
    LOST_CALL = "lost_call"
    WRONG_CALL = "wrong_call"
    DAMAGED_ARGUMENTS = "damaged_arguments"
    WRONG_WORD = "wrong_word"
    # From here on: never corruption.
    HANG = "hang"
    TRANSPORT_ERROR = "transport_error"
    CUT_STREAM = "cut_stream"
    REFUSED = "refused"
    TRUNCATED = "truncated"
    UNPARSED_CALL = "unparsed_call"
    UNPARSED_MARKUP = "unparsed_markup"
    QUIRK = "quirk"

    @property
    def is_corruption(self) -> bool:
        return self in CORRUPTION_KINDS


CORRUPTION_KINDS = (
    Kind.CROSS_TALK,
    Kind.EMPTY_REPLY,
    Kind.REPETITION,
    Kind.TOKEN_SALAD,
    Kind.CONTROL_TOKENS,
    Kind.WRONG_FIRST_TOKEN,
    Kind.MISPLACED_MARKUP,
    Kind.LOST_CALL,
    Kind.WRONG_CALL,
    Kind.DAMAGED_ARGUMENTS,
    Kind.WRONG_WORD,
)


class Origin(StrEnum):
    """Where a corrupted turn's corruption came from, by the machine's own evidence."""

    PRIMARY = "primary"
    """Its own prefill, or its own decode, read stale bytes."""
    SECONDARY = "secondary"
    """It read pages that an earlier, misled prefill had written, and nothing stale of its own."""
    UNEXPLAINED = "unexplained"
    """The machine saw neither: a race that it does not know, or a bug of ours."""
    UNOBSERVED = "unobserved"
    """No machine evidence was recorded, as with a live server."""


class Side(StrEnum):
    """Who is to blame for a wrong reply, as far as the raw text shows it."""

    ENGINE = "engine"
    """The tokens themselves are wrong."""
    PARSER = "parser"
    """The server's parser lost or misplaced what the engine had said rightly."""
    CLIENT = "client"
    """Our own client put together something else than what arrived."""
    UNDECIDED = "undecided"


@dataclass(frozen=True, slots=True)
class Blame:
    """Parser or engine? And why, in words."""

    side: Side
    reason: str


@dataclass(frozen=True, slots=True)
class Span:
    """Where the evidence is: characters [begin, end) of `field` of the turn, and what stands there."""

    field: str
    begin: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class Finding:
    """What one oracle says about one turn. `kind` is None where nothing is wrong or nothing could be judged."""

    oracle: str
    verdict: Verdict
    reason: str
    kind: Kind | None = None
    severity: Severity = Severity.NOTE
    span: Span | None = None


@dataclass(frozen=True, slots=True)
class Judgement:
    """The one verdict of a turn, its primary kind, its origin where it is corrupted, and the findings that are not OK.

    kind: of a corrupted turn, a corruption; of a turn that could not be judged, why (None if no oracle could say).
    blame: of a corrupted turn, parser or engine; None where nobody asked (runs judged by older versions).
    """

    session: int
    turn: int
    verdict: Verdict
    kind: Kind | None
    origin: Origin | None
    findings: tuple[Finding, ...]
    blame: Blame | None = None

    @property
    def is_corrupted(self) -> bool:
        return self.verdict is Verdict.VIOLATED

    @property
    def primary(self) -> Finding | None:
        """The finding that gave the turn its kind."""
        return next((finding for finding in self.findings if finding.kind is self.kind), None)

    @property
    def key(self) -> tuple[int, int]:
        return (self.session, self.turn)
