"""What differs between an expected and a received text: words first, characters inside words that are alike.

Owns: the pieces to show, and keeping chance matches of a letter or a comma out of them. Does not own: colours.
Floor 3. Source: difflib (Ratcliff and Obershelp) over words; the clean-up of chance matches is ours.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher

from results.report.parts import Piece

SAME, GONE, NEW = "same", "gone", "new"

_WORDS = re.compile(r"\w+\s*|[^\w\s]\s*|\s+")
_ALIKE = 0.6
_CHANCE_CHARACTERS = 4
_WORD_CHARACTERS_MAX = 80

_Texts = tuple[str, str]
"""What the expected text has at one place, and what the received text has there."""


def difference(expected: str, received: str) -> tuple[Piece, ...]:
    """Pieces in reading order. `same` and `gone` together are the expected text, `same` and `new` the received one."""
    pieces: list[Piece] = []
    for gone, new in _joined(_aligned(_WORDS.findall(expected), _WORDS.findall(received))):
        if gone == new:
            pieces.append(Piece(SAME, gone))
        elif _are_alike(gone, new):
            pieces += _letters(gone, new)
        else:
            pieces += [Piece(GONE, gone), Piece(NEW, new)]
    return _merged(pieces)


def _aligned(expected: Sequence[str], received: Sequence[str]) -> Iterable[_Texts]:
    """Words and marks, each with the blanks behind it, so that blanks alone never match."""
    for _, begin, end, new_begin, new_end in SequenceMatcher(None, expected, received, autojunk=False).get_opcodes():
        yield "".join(expected[begin:end]), "".join(received[new_begin:new_end])


def _joined(aligned: Iterable[_Texts]) -> list[_Texts]:
    """Two changes with only a few equal characters between them are one change."""
    joined: list[_Texts] = []
    for gone, new in aligned:
        joined.append((gone, new))
        if len(joined) < 3 or gone == new:
            continue
        (first_gone, first_new), (same, _) = joined[-3], joined[-2]
        if first_gone != first_new and len(same.strip()) < _CHANCE_CHARACTERS:
            joined[-3:] = [(first_gone + same + gone, first_new + same + new)]
    return joined


def _are_alike(gone: str, new: str) -> bool:
    if not gone or not new or max(len(gone), len(new)) > _WORD_CHARACTERS_MAX:
        return False
    return SequenceMatcher(None, gone, new, autojunk=False).ratio() >= _ALIKE


def _letters(gone: str, new: str) -> list[Piece]:
    pieces = []
    for mark, begin, end, new_begin, new_end in SequenceMatcher(None, gone, new, autojunk=False).get_opcodes():
        if mark == "equal":
            pieces.append(Piece(SAME, gone[begin:end]))
        else:
            pieces += [Piece(GONE, gone[begin:end]), Piece(NEW, new[new_begin:new_end])]
    return pieces


def _merged(pieces: Iterable[Piece]) -> tuple[Piece, ...]:
    merged: list[Piece] = []
    for piece in pieces:
        if merged and merged[-1].mark == piece.mark:
            merged[-1] = Piece(piece.mark, merged[-1].text + piece.text)
        elif piece.text:
            merged.append(piece)
    return tuple(merged)
