"""Log-probabilities of a reply's tokens, read from its raw text.

Owns: chosen tokens and their rivals, and how much the same tokens' values move between two replies (the noise floor of
a server's arithmetic). Does not own: what a small margin means (`divergence`). Floor 3. Source: OpenAI's chat API.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Any

from results.oracles.raw_reply import choices_of
from results.records import TurnRecord


@dataclass(frozen=True, slots=True)
class Token:
    """A token, its log-probability, and the best few of its place (itself among them), most probable first."""

    text: str
    logprob: float
    best: tuple[tuple[str, float], ...]


def tokens_of(turn: TurnRecord) -> tuple[Token, ...]:
    """Empty where the server offered none."""
    if turn.raw is None or '"logprobs"' not in turn.raw:
        return ()
    return tuple(token for choice in choices_of(turn.raw) for token in _tokens(choice.get("logprobs")))


def _tokens(logprobs: Any) -> Iterable[Token]:
    entries = logprobs.get("content") if isinstance(logprobs, dict) else None
    for entry in entries if isinstance(entries, list) else ():
        if isinstance(entry, dict) and isinstance(entry.get("logprob"), int | float):
            best = tuple(
                (str(rival.get("token")), float(rival["logprob"]))
                for rival in entry.get("top_logprobs") or ()
                if isinstance(rival, dict) and isinstance(rival.get("logprob"), int | float)
            )
            yield Token(str(entry.get("token")), float(entry["logprob"]), tuple(sorted(best, key=lambda one: -one[1])))


def shifts(one: Sequence[Token], other: Sequence[Token]) -> list[float]:
    """By how much each value moved, over the tokens that both replies begin with."""
    same = takewhile(lambda pair: pair[0].text == pair[1].text, zip(one, other, strict=False))
    return [abs(a.logprob - b.logprob) for a, b in same]


def first_split(one: Sequence[Token], other: Sequence[Token]) -> int | None:
    """The first place where the tokens differ; None where one reply begins the other."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((index for index, (a, b) in pairs if a.text != b.text), None)


def margin_at(token: Token, rival: str) -> tuple[float, bool]:
    """How much more probable the token was than its rival, and whether that is exact.

    A rival that is not among the best few lies at least as far behind as the last of them.
    """
    for text, logprob in token.best:
        if text == rival:
            return token.logprob - logprob, True
    return (token.logprob - token.best[-1][1], False) if token.best else (0.0, False)
