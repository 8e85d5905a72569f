"""Rolling hashes of tokens: the states that facts unroll, and the context hashes that rows are keyed by.

Owns: the arithmetic, on 64-bit words that wrap. Does not own: which tokens belong to a fact (`grammar.py`).
Floor 2c. Source: the finaliser is splitmix64's (Steele, Lea, Flood, OOPSLA 2014, and the public-domain C code);
the rest is ours.

The state of a fact is a polynomial in the tokens so far: s' = s * M + T(token), with M odd and T a random-looking
table. Because it is a polynomial, the states of a whole message come from one running sum instead of a loop over
tokens. A context hash is the mixed state. Its top bit tells facts from other text, so that the two never collide.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from kernels.engine.tokenizer import TokenIds

Words = NDArray[np.uint64]

_MASK = (1 << 64) - 1
_MULTIPLIER = 0x9E3779B97F4A7C15
_INVERSE = pow(_MULTIPLIER, -1, 1 << 64)
_TOKEN_SALT = 0xD1B54A32D192ED03
_KEY_SEED = 0x2545F4914F6CDD1D
_ANCHOR_SALT = 0xBF58476D1CE4E5B9
_FACT_BIT = 1 << 63


def mix(values: Words) -> Words:
    """Spread every input bit over all 64 bits; a bijection."""
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))


def mix_word(value: int) -> int:
    """`mix` of one word."""
    value = ((value ^ (value >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    value = ((value ^ (value >> 27)) * 0x94D049BB133111EB) & _MASK
    return value ^ (value >> 31)


def token_words(tokens: TokenIds) -> Words:
    """T of the text above. Args: tokens [n] int32. Returns: [n] uint64."""
    return mix(tokens.astype(np.uint64) + np.uint64(_TOKEN_SALT))


def token_word(token: int) -> int:
    """`token_words` of one token."""
    return mix_word((token + _TOKEN_SALT) & _MASK)


def advance(state: int, token: int) -> int:
    """The state of a fact after one more token."""
    return (state * _MULTIPLIER + token_word(token)) & _MASK


def key_state(tokens: Sequence[int]) -> int:
    """What stands for a key: depends on its tokens only."""
    state = _KEY_SEED
    for token in tokens:
        state = advance(state, token)
    return state


def start_state(key: int, recalled: int | None) -> int:
    """The state in front of a fact's first token.

    Args:
        key: from `key_state`.
        recalled: for an anchored fact, the first token recalled under its anchor; None for a plain fact.
    """
    return key if recalled is None else mix_word(key ^ ((recalled + 1) * _ANCHOR_SALT & _MASK))


def fact_context(state: int) -> int:
    """The context hash that belongs to a state."""
    return mix_word(state) | _FACT_BIT


def fact_contexts(states: Words) -> Words:
    """`fact_context` of many states."""
    return mix(states) | np.uint64(_FACT_BIT)


def text_contexts(words: Words) -> Words:
    """Context hashes outside facts: of each token, from the four tokens in front of it.

    Args: words: [4 + n] uint64, `token_words` of the n tokens and of the four before them. Returns: [n] uint64.
    """
    multiplier = np.uint64(_MULTIPLIER)
    count = len(words) - 4
    state = words[:count].copy()
    for offset in (1, 2, 3):
        state *= multiplier
        state += words[offset : count + offset]
    return mix(state) & np.uint64(_FACT_BIT - 1)


class RunningStates:
    """The states of every fact in a run of tokens, from one running sum over the run.

    With C(i) = sum over j < i of M^-(j+1) T(j), a fact that starts at b in state s is at i in state
    M^i * (M^-b * s + C(i) - C(b)): multiply out and the terms before b cancel.
    """

    def __init__(self, words: Words) -> None:
        """words: [n] uint64, `token_words` of the run."""
        count = len(words)
        self._powers = _powers(_MULTIPLIER, count + 1)
        self._inverses = _powers(_INVERSE, count + 1)
        self._sums = np.zeros(count + 1, dtype=np.uint64)
        np.cumsum(words * self._inverses[1:], dtype=np.uint64, out=self._sums[1:])

    def states(self, state: int, begin: int, end: int) -> Words:
        """States in front of tokens [begin, end] (one more than tokens), for a fact that starts at `begin`."""
        assert begin <= end, (begin, end)
        scaled = self._inverses[begin : begin + 1] * np.uint64(state) - self._sums[begin : begin + 1]
        return self._powers[begin : end + 1] * (scaled + self._sums[begin : end + 1])


def unroll(state: int, tokens: TokenIds) -> Words:
    """States in front of each token and behind the last, for a fact that starts in `state`. Returns: [n + 1]."""
    return RunningStates(token_words(tokens)).states(state, 0, len(tokens))


def _powers(base: int, count: int) -> Words:
    factors = np.full(count, base, dtype=np.uint64)
    factors[0] = 1
    return np.multiply.accumulate(factors)
