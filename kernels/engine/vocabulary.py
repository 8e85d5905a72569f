"""The vocabulary: 16,384 ids, every one of which stands for some bytes.

Owns: which piece has which id. Does not own: how text is cut into pieces (`tokenizer.py`), chat format
(`tokenizer_chat.py`). Floor 2c. Source: ours.

Ids [0, 256) are the single bytes, so any text can be spelled; newline and `|` are among them. Then come the special
tokens, which no text encodes to, and the grammar of facts and references, whose ids the recall model reads.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from string import ascii_lowercase, ascii_uppercase

from kernels.engine.vocabulary_scripts import script_pieces
from kernels.engine.vocabulary_words import stems, word_forms

VOCABULARY_SIZE = 16_384

NEWLINE = ord("\n")
BAR = ord("|")

SPECIALS = ("<|system|>", "<|user|>", "<|assistant|>", "<|tool|>", "<|end|>", "<|nothing|>")
SYSTEM, USER, ASSISTANT, TOOL, END, NOTHING = range(256, 256 + len(SPECIALS))

GRAMMAR = ("[[", "]] ", "]]", "((", "))")
FACT_OPEN, FACT_BODY, FACT_CLOSE, REFERENCE_OPEN, REFERENCE_CLOSE = range(NOTHING + 1, NOTHING + 1 + len(GRAMMAR))

JSON_PUNCTUATION = ('{"', '"}', '": "', '", "', '": ', '": {"', '": ["', '": [', '"}}', '"}, {"', '", ', ', "')
PUNCTUATION = ("{}", "[]", "://", "--", "==", "->", "=>", "...", ", ", ". ", ": ", "; ")
SPACES = ("  ", "    ", "        ")


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """pieces: [16384] the bytes of each id."""

    pieces: tuple[bytes, ...]

    def ids(self) -> dict[str, int]:
        """The id of each piece that is text and that text may encode to: all but the specials and non-ASCII bytes."""
        special = range(SYSTEM, NOTHING + 1)
        plain = {piece: index for index, piece in enumerate(self.pieces) if index not in special}
        return {piece.decode(): index for piece, index in plain.items() if index >= 256 or index < 128}


def build_vocabulary() -> Vocabulary:
    """Effect: none; takes some tens of milliseconds, so build it once."""
    pieces = [bytes([value]) for value in range(256)]
    pieces += [piece.encode() for piece in (*SPECIALS, *GRAMMAR)]
    known = set(pieces)
    for text in _texts():
        piece = text.encode()
        if piece not in known:
            known.add(piece)
            pieces.append(piece)
            if len(pieces) == VOCABULARY_SIZE:
                return Vocabulary(tuple(pieces))
    raise AssertionError(f"the vocabulary's sources end at {len(pieces)} pieces")


def _texts() -> Iterator[str]:
    yield from (*JSON_PUNCTUATION, *PUNCTUATION, *SPACES)
    for length in (2, 3):
        yield from map("".join, product("0123456789", repeat=length))
    yield from map("".join, product("0123456789abcdef", repeat=2))
    yield from map("".join, product(ascii_lowercase, repeat=2))
    yield from (" " + letter for letter in ascii_lowercase + ascii_uppercase + "0123456789")
    yield from stems()
    yield from (" " + word for word in word_forms())
    yield from script_pieces()
