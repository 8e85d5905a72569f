"""Text for the blocks of a trace that has only their ids: the same id is the same text, wherever it stands.

Owns: a block's name, its filler, and the call and secret words planted in some blocks. Does not own: which blocks a
request has (`mooncake.py`). Floor 5. Source: ours; that two ids must never be the same tokens is GuideLLM's check of
such traces (PR 777), and here follows from the names: no two ids have one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from itertools import accumulate
from typing import Final

import numpy as np

from harness.load.workload.calls import Call, CallDrawer
from harness.load.workload.grammar import fact_line
from harness.load.workload.mint import CONSONANTS, SOUNDS
from harness.load.workload.prose import CountTokens, Line
from harness.load.workload.words import Vocabulary

PLANTED_EVERY_TOKENS: Final = 1_024
"""About one planted call in so much text: often enough that hardly any request has none, and few enough that what a
reply must recall stands far from the question."""
_FILLER_PIECES: Final = 65_536
_LINE_WORDS: Final = 12
_SYLLABLES: Final = tuple(first + second for first in CONSONANTS for second in SOUNDS)
_SECRET_SYLLABLES: Final = 5
_REMEMBERED: Final = 16_384

BlockId = int | str


def block_name(block: BlockId) -> str:
    """A word that no other block has: the id's digits as syllables, or those of a text's hash."""
    number = block if isinstance(block, int) else (1 << 64) + _hash("id", block)
    syllables = []
    while True:
        number, digit = divmod(number, len(_SYLLABLES))
        syllables.append(_SYLLABLES[digit])
        if not number:
            return "".join(syllables)


def secret_word(*parts: object) -> str:
    """A word that follows from the parts, as good as unique: one of some twenty thousand million."""
    number = _hash("secret", *parts)
    syllables = [_SYLLABLES[number // len(_SYLLABLES) ** at % len(_SYLLABLES)] for at in range(_SECRET_SYLLABLES)]
    return "".join(syllables) + CONSONANTS[number // len(_SYLLABLES) ** _SECRET_SYLLABLES % len(CONSONANTS)]


def _hash(*parts: object) -> int:
    digest = blake2b("\0".join(map(str, parts)).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little")


@dataclass(frozen=True, slots=True)
class BlockCall:
    """The call that a block holds under a key, and its secret word."""

    key: str
    call: Call
    secret: str


class BlockText:
    """Makes the text of blocks. planted: whether some blocks hold a call."""

    def __init__(
        self,
        seed: int,
        block_tokens: int,
        drawer: CallDrawer | None,
        vocabulary: Vocabulary,
        count_tokens: CountTokens,
    ) -> None:
        self._seed = seed
        self._block_tokens = block_tokens
        self._drawer = drawer
        self._count_tokens = count_tokens
        self._every = max(1, round(PLANTED_EVERY_TOKENS / block_tokens))
        self._filler = _Filler(np.random.default_rng([seed, 11]), vocabulary, count_tokens, block_tokens)
        self.call = lru_cache(_REMEMBERED)(self._call)
        self._begin = lru_cache(_REMEMBERED)(self._make_begin)

    def __repr__(self) -> str:
        return f"BlockText(seed {self._seed}, a call in one of {self._every} blocks)"

    def is_planted(self, block: BlockId) -> bool:
        return self._drawer is not None and _hash("planted", self._seed, block) % self._every == 0

    def secret(self, block: BlockId) -> str:
        """The secret word of a planted block."""
        return secret_word(self._seed, block)

    def line(self, block: BlockId, tokens: int) -> Line:
        """The block's text, about so many tokens of it; longer only where its name and call alone are."""
        begin = self._begin(block) if self.holds_call(block, tokens) else self._named(block)
        filler = self._filler.cut(_hash("filler", self._seed, block), max(0, tokens - begin.tokens))
        return Line(begin.text + filler.text, begin.tokens + filler.tokens)

    def holds_call(self, block: BlockId, tokens: int) -> bool:
        """Whether there is a call in so much of the block: a whole one is never too small, a cut last one may be."""
        return self.is_planted(block) and (tokens >= self._block_tokens or self._begin(block).tokens <= tokens)

    def _call(self, block: BlockId) -> BlockCall:
        """The call of a planted block."""
        assert self._drawer is not None, block
        rng = np.random.default_rng([self._seed, 12, _hash("call", block)])
        secret = self.secret(block)
        (call,) = self._drawer.draw(rng, (secret,), 1, set())
        return BlockCall(block_name(block), call, secret)

    def _make_begin(self, block: BlockId) -> Line:
        named = self._named(block)
        if not self.is_planted(block):
            return named
        held = self.call(block)
        text = fact_line(held.key, held.call.body)
        return Line(named.text + text, named.tokens + self._count_tokens(text))

    def _named(self, block: BlockId) -> Line:
        text = f"Part {block_name(block)}.\n"
        return Line(text, self._count_tokens(text))


class _Filler:
    """One long text, of which blocks are stretches: cutting costs nothing, and each piece's tokens are counted once."""

    def __init__(
        self, rng: np.random.Generator, vocabulary: Vocabulary, count_tokens: CountTokens, block_tokens: int
    ) -> None:
        words = sorted({word.lower() for word in vocabulary.words if word.isalpha()})
        counts = {word: count_tokens(f" {word}") for word in words}
        chosen = [words[int(pick)] for pick in rng.integers(0, len(words), _FILLER_PIECES + block_tokens)]
        ends = ["\n" if at % _LINE_WORDS == _LINE_WORDS - 1 else "" for at in range(len(chosen))]
        pieces = [f" {word}{end}" for word, end in zip(chosen, ends, strict=True)]
        self._text = "".join(pieces)
        self._characters = np.array([0, *accumulate(map(len, pieces))], dtype=np.int64)
        tokens = (counts[word] + (end != "") for word, end in zip(chosen, ends, strict=True))
        self._tokens = np.array([0, *accumulate(tokens)], dtype=np.int64)

    def cut(self, at: int, tokens: int) -> Line:
        """At most so many tokens from some piece on, and short of that by less than one piece; a line of its own."""
        if tokens < 2:
            return Line("", 0)
        first = at % _FILLER_PIECES
        begin = self._tokens[first]
        last = int(np.searchsorted(self._tokens, begin + tokens - 1, side="right")) - 1
        text = self._text[self._characters[first] : self._characters[last]]
        return Line(text.strip(" ") + "\n", int(self._tokens[last] - begin) + 1)


def asked_call(text: BlockText, blocks: Sequence[tuple[BlockId, int]], rng: np.random.Generator) -> BlockCall | None:
    """The call that a request of these blocks (id, tokens) shall ask for; None where none of them holds any."""
    holding = [block for block, tokens in blocks if text.holds_call(block, tokens)]
    return text.call(holding[int(rng.integers(len(holding)))]) if holding else None
