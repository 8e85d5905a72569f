"""What an oracle is.

Owns: the seam between a judge and its oracles. Floor 3. Source: ours.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from results.findings import Finding, Kind, Severity, Span, Verdict
from results.oracles.context import JudgeContext
from results.oracles.reply import Reply

SPAN_CHARACTERS_MAX = 160
"""A finding quotes at most this much of its evidence; the span's numbers say how much there is."""


@dataclass(frozen=True, slots=True)
class Oracle:
    """A pure question about one reply.

    judge: an empty list says that the question does not apply to this reply (no call, no text, no secrets).
    """

    name: str
    question: str
    judge: Callable[[Reply, JudgeContext], list[Finding]]


def passed(oracle: str) -> list[Finding]:
    return [_ok(oracle)]


@cache
def _ok(oracle: str) -> Finding:
    """Nearly every answer is this one, so it is made once."""
    return Finding(oracle, Verdict.OK, "")


def unknown(oracle: str, reason: str) -> list[Finding]:
    return [Finding(oracle, Verdict.UNKNOWN, reason)]


def violated(
    oracle: str, kind: Kind, reason: str, *, severity: Severity = Severity.PROOF, span: Span | None = None
) -> Finding:
    return Finding(oracle, Verdict.VIOLATED, reason, kind, severity, span)


def span_of(field: str, text: str, begin: int, end: int) -> Span:
    return Span(field, begin, end, text[begin : min(end, begin + SPAN_CHARACTERS_MAX)])
