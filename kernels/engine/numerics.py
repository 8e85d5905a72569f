"""Numbers as bf16 kernels give them: small shifts that depend on the batch, and near ties that such a shift decides.

Owns: which replies have a near tie, what its rival is, and by how much each value moves in which batch. Does not own:
the exact model (`recall/`), which has no near ties of its own: what it recalls leads by far.
Floor 2c. Source: ours; a batch's size picks the kernel, the kernel its rounding, and so greedy replies of sound servers
differ (facts/bugs.md, S15).

A request that is alone gets the exact numbers. In a batch each log-probability moves by up to NOISE_NATS, and for one
size of batch always in the same way. The near tie is where a reply opens a text in JSON, one space before it or two:
the rival lies TIE_NATS behind, in TIED_SHARE of all replies. So what was recalled is the same, and so is the call that
a client parses; its characters, and with them every comparison of texts, are not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import log
from typing import Final, Literal

from kernels.engine.recall.hashing import mix_word
from kernels.engine.recall.scores import TokenScores
from kernels.engine.vocabulary import GRAMMAR, JSON_PUNCTUATION, NOTHING

Numerics = Literal["exact", "bf16"]

NOISE_NATS: Final = 0.02
TIE_NATS: Final = 0.008
TIED_SHARE: Final = 0.12

_FIRST_MARK: Final = NOTHING + 1 + len(GRAMMAR)
TEXT_OPENS: Final = _FIRST_MARK + JSON_PUNCTUATION.index('": "')
RIVAL: Final = _FIRST_MARK + JSON_PUNCTUATION.index('": ')
_REST: Final = (ord(" "), ord('"'))
_TIE_SALT, _NOISE_SALT = 0x8CB92BA72F3D8DD7, 0xD6E8FEB86659FD93
_UNIT: Final = float(1 << 64)


@dataclass(frozen=True, slots=True)
class Rounded:
    """A reply's tokens as one batch's kernels give them. scores: one for each token, or none."""

    tokens: tuple[int, ...]
    scores: tuple[TokenScores, ...]


def rounded(tokens: Sequence[int], scores: Sequence[TokenScores], *, state: int, batch: int) -> Rounded:
    """A reply's tokens and scores in a batch of that many requests.

    Args: scores: of all tokens, or none. state: in front of the reply, so that it names what is recalled.
    """
    noise = _Noise(state, batch)
    place = _tied_place(tokens, state)
    moved = [_moved(one, noise, index) for index, one in enumerate(scores)]
    if place is None:
        return Rounded(tuple(tokens), tuple(moved))
    is_flipped = noise.of(place, RIVAL) - noise.of(place, TEXT_OPENS) > TIE_NATS
    if moved:
        moved[place] = _tied(scores[place], noise, place)
    if not is_flipped:
        return Rounded(tuple(tokens), tuple(moved))
    spelled = (*tokens[:place], RIVAL, *_REST, *tokens[place + 1 :])
    if moved:
        # Nothing competes with the rest of a spelling that has begun.
        moved[place + 1 : place + 1] = [TokenScores(token, 0.0, ((token, 0.0),)) for token in _REST]
    return Rounded(spelled, tuple(moved))


class _Noise:
    """By how much each token's log-probability moves; a pure function of the batch's size and the place."""

    def __init__(self, state: int, batch: int) -> None:
        self._seed = mix_word(state ^ _NOISE_SALT) ^ mix_word(batch)
        self._is_alone = batch <= 1

    def of(self, place: int, token: int) -> float:
        if self._is_alone:
            return 0.0
        word = mix_word(self._seed ^ mix_word(place << 32 | token))
        return NOISE_NATS * (2.0 * word / _UNIT - 1.0)


def _tied_place(tokens: Sequence[int], state: int) -> int | None:
    if mix_word(state ^ _TIE_SALT) / _UNIT >= TIED_SHARE or TEXT_OPENS not in tokens:
        return None
    return list(tokens).index(TEXT_OPENS)


def _moved(scores: TokenScores, noise: _Noise, place: int) -> TokenScores:
    best = [(token, min(0.0, logprob + noise.of(place, token))) for token, logprob in scores.best]
    best.sort(key=lambda one: -one[1])
    return TokenScores(scores.token, min(0.0, scores.logprob + noise.of(place, scores.token)), tuple(best))


def _tied(scores: TokenScores, noise: _Noise, place: int) -> TokenScores:
    """The token and its rival share what the token had alone, but for the distance between them."""
    share = scores.logprob - log(2.0) + TIE_NATS / 2
    pair = [(TEXT_OPENS, share + noise.of(place, TEXT_OPENS)), (RIVAL, share - TIE_NATS + noise.of(place, RIVAL))]
    pair.sort(key=lambda one: -one[1])
    others = [one for one in _moved(scores, noise, place).best if one[0] not in (TEXT_OPENS, RIVAL)]
    best = (*pair, *others)[: len(scores.best)]
    return TokenScores(pair[0][0], pair[0][1], best)
