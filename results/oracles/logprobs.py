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

_NATS_MAX = 1e300
"""Sums and multiples of two such numbers are finite still."""


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
    tokens: list[Token] = []
    for entry in (entry for choice in choices_of(raw) for entry in _entries(choice.get("logprobs"), "content")):
        own = scored(entry)
        if own is None:
            # Behind a token that cannot be read, no place is known to be the same place of another reply.
            break
        tokens.append(Token(*own, best_first(map(scored, _entries(entry, "top_logprobs")))))
    return tuple(tokens)


def scored(entry: object, text: str = "token") -> tuple[str, float] | None:
    """An entry's text and its log-probability; None without a number that can be reckoned with (NaN, infinity)."""
    value = entry.get("logprob") if isinstance(entry, dict) else None
    if not isinstance(entry, dict) or isinstance(value, bool) or not isinstance(value, int | float):
        return None
    # Written so that NaN fails it too, and an integer that no float can hold.
    if not -_NATS_MAX < value < _NATS_MAX:
        return None
    said = entry.get(text)
    return said if isinstance(said, str) else "", float(value)


def best_first(known: Iterable[tuple[str, float] | None]) -> tuple[tuple[str, float], ...]:
    """Those that could be read, most probable first."""
    return tuple(sorted((one for one in known if one is not None), key=lambda one: -one[1]))


def _entries(holder: object, name: str) -> list[Any]:
    entries = holder.get(name) if isinstance(holder, dict) else None
    return entries if isinstance(entries, list) else []


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
