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
    return () if turn.raw is None else tokens_in(turn.raw)


def tokens_in(raw: str) -> tuple[Token, ...]:
    """Of a stored stream or body."""
    if '"logprobs"' not in raw:
        return ()
    return tuple(token for choice in choices_of(raw) for token in _tokens(choice.get("logprobs")))


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


@dataclass(frozen=True, slots=True)
class Split:
    """Where another reply leaves the reference: the reference's token there, and what the other says instead."""

    place: int
    expected: Token
    rival: str


def split_of(reference: Sequence[Token], other: Sequence[Token], other_text: str) -> Split | None:
    """By tokens where both replies have them, else by the other's text; None where neither shows the place.

    A text does not tell its tokens: the rival is then the best of the place's known tokens that the text goes on with,
    or else what it says up to its next blank.
    """
    if other:
        place = first_split(reference, other)
        return None if place is None else Split(place, reference[place], other[place].text)
    rest = other_text
    for place, token in enumerate(reference):
        if rest.startswith(token.text):
            rest = rest[len(token.text) :]
            continue
        known = [text for text, _ in token.best if text and text != token.text and rest.startswith(text)]
        # Text that ends here is an early end, whose token has no text at all.
        return Split(place, token, max(known, key=len)) if known else _unknown_rival(place, token, rest)
    return None


def _unknown_rival(place: int, token: Token, rest: str) -> Split | None:
    head = rest.lstrip()
    return Split(place, token, rest[: len(rest) - len(head)] + head.split(maxsplit=1)[0]) if head else None


def margin_at(token: Token, rival: str) -> tuple[float, bool]:
    """How much more probable the token was than its rival, and whether that is exact.

    A rival that is not among the best few lies at least as far behind as the last of them.
    """
    for text, logprob in token.best:
        if text == rival:
            return token.logprob - logprob, True
    return (token.logprob - token.best[-1][1], False) if token.best else (0.0, False)
