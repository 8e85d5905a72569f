"""What is asked of the layers, and from where in the text.

Owns: queries and the window each of them sees. Floor 2c.

A query that stands at `position` of the prompt sees the entries and summaries that are complete in front of it, and the
128 tokens in front of it. Tokens of the running reply (the *tail*) are seen through the window; their own entries are
read from the next turn on.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kernels.engine.recall.codes import Signatures, signatures_of
from kernels.engine.recall.hashing import Words
from kernels.engine.recall.reading import TokenReading
from kernels.engine.recall.shape import WINDOW_TOKENS
from kernels.engine.recall.token_page import TokenNumbers
from kernels.engine.tokenizer import TokenIds


@dataclass(frozen=True, slots=True, eq=False)
class Queries:
    """contexts: [n] uint64, the hash to recall by.

    position: prompt tokens in front of all queries. tail_signatures, tail_numbers: [t], reply tokens behind them.
    lags: [n] int64, how many tokens of the tail each query has in front of it.
    """

    contexts: Words
    position: int
    tail_signatures: Signatures
    tail_numbers: TokenNumbers
    lags: NDArray[np.int64]

    def windows(self, reading: TokenReading) -> tuple[Signatures, TokenNumbers]:
        """Each query's window. Returns: [n, 128] uint64 and [n, 128] uint16."""
        signatures, numbers = self.window_and_tail(reading)
        seen = self.lags[:, None] + np.arange(WINDOW_TOKENS)
        return signatures[seen], numbers[seen]

    def window_and_tail(self, reading: TokenReading) -> tuple[Signatures, TokenNumbers]:
        """[128 + t] rows; query i sees rows [lags[i], lags[i] + 128)."""
        signatures, numbers = reading.window(self.position)
        return np.concatenate([signatures, self.tail_signatures]), np.concatenate([numbers, self.tail_numbers])


def queries_at(contexts: Words, position: int) -> Queries:
    """Queries in the prompt, without a reply."""
    no_signatures, no_numbers = np.zeros(0, dtype=np.uint64), np.zeros(0, dtype=np.uint16)
    return Queries(contexts, position, no_signatures, no_numbers, np.zeros(len(contexts), dtype=np.int64))


def queries_behind(
    contexts: Words, position: int, tail: TokenIds, tail_contexts: Words, lags: NDArray[np.int64]
) -> Queries:
    """Queries in a running reply. Args: tail [t] int32, tail_contexts [t] uint64; the rest as in `Queries`."""
    return Queries(contexts, position, signatures_of(tail_contexts), tail.astype(np.uint16), lags)
