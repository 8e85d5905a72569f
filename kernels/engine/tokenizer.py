"""Text to token ids and back.

Owns: cutting text into pieces. Does not own: the pieces (`vocabulary.py`), chat format (`tokenizer_chat.py`).
Floor 2c. Source: the usual scheme of a pre-token pattern, a dictionary and a fallback; pattern and fallback ours.

Every cut depends only on the text from the cut on. So the tokens of a text that begins at a piece border are the
tokens of that text alone: a fact's body inside a prompt has the tokens of the reply that repeats it, and a message's
tokens do not depend on the messages before it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from kernels.engine.vocabulary import GRAMMAR, JSON_PUNCTUATION, PUNCTUATION, Vocabulary

TokenIds = NDArray[np.int32]

_MEMO_PIECES_MAX = 65_536


def _pattern() -> re.Pattern[str]:
    marks = sorted((*GRAMMAR, *JSON_PUNCTUATION, *PUNCTUATION), key=len, reverse=True)
    longest_first = "|".join(re.escape(mark) for mark in marks)
    # No mark begins like a word, so the words, which are most of a text, may be tried first.
    return re.compile(rf" ?[A-Za-z0-9]+|{longest_first}| +|[^\x00-\x7f]+|[\s\S]")


class _PieceTable(dict[str, tuple[int, ...]]):
    """Piece -> ids. A piece without an id of its own is spelled on first sight and remembered."""

    def __init__(self, ids: dict[str, int]) -> None:
        super().__init__((piece, (index,)) for piece, index in ids.items())
        self._ids = ids
        self._longest = _longest_by_first(ids)
        self._size_max = len(self) + _MEMO_PIECES_MAX

    def __missing__(self, piece: str) -> tuple[int, ...]:
        spelled = tuple(self._spell(piece))
        if len(self) < self._size_max:
            self[piece] = spelled
        return spelled

    def _spell(self, piece: str) -> Iterable[int]:
        """Longest match first; a character that begins no known piece is spelled in bytes."""
        begin = 0
        while begin < len(piece):
            longest = self._longest.get(piece[begin], 0)
            for end in range(min(len(piece), begin + longest), begin, -1):
                index = self._ids.get(piece[begin:end])
                if index is not None:
                    yield index
                    begin = end
                    break
            else:
                yield from piece[begin].encode(errors="surrogatepass")
                begin += 1


def _longest_by_first(ids: dict[str, int]) -> dict[str, int]:
    longest: dict[str, int] = {}
    for piece in ids:
        longest[piece[0]] = max(longest.get(piece[0], 0), len(piece))
    return longest


class Tokenizer:
    """Reversible: `decode(encode(text)) == text` for every text that is valid Unicode.

    A lone surrogate is accepted and comes back as replacement characters: no client could be sent one.
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.vocabulary = vocabulary
        self._find_pieces = _pattern().findall
        self._table = _PieceTable(vocabulary.ids())

    def encode(self, text: str) -> TokenIds:
        """Cut a text into tokens. Special tokens' names in it are plain text.

        Returns: [token_count] int32, read-only.
        """
        ids = chain.from_iterable(map(self._table.__getitem__, self._find_pieces(text)))
        tokens = np.fromiter(ids, dtype=np.int32)
        tokens.setflags(write=False)
        return tokens

    def decode_bytes(self, ids: Iterable[int] | TokenIds) -> bytes:
        """The bytes of these tokens; a character may be cut at either end."""
        numbers = ids.tolist() if isinstance(ids, np.ndarray) else ids
        return b"".join(map(self.vocabulary.pieces.__getitem__, numbers))

    def decode(self, ids: Iterable[int] | TokenIds) -> str:
        """The text of these tokens; bytes that are not UTF-8 become replacement characters."""
        return self.decode_bytes(ids).decode(errors="replace")

    def __repr__(self) -> str:
        spelled = len(self._table) - len(self.vocabulary.ids())
        return f"Tokenizer({len(self.vocabulary.pieces)} ids, {spelled} spelled pieces remembered)"
