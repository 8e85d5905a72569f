"""Pieces of many scripts for the vocabulary, so that garbled output looks like the real thing.

Owns: which code points and pairs get an id of their own. Does not own: ids (`vocabulary.py`); any character that
is not here is spelled in bytes. Floor 2c. Source: Unicode block ranges; the choice is ours.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

_LETTERS = (
    (0x00C0, 0x0180),  # Latin with marks
    (0x0391, 0x03A2),  # Greek capitals
    (0x03A3, 0x03CA),  # Greek, last capitals and small letters
    (0x0410, 0x0450),  # Cyrillic
    (0x05D0, 0x05EB),  # Hebrew
    (0x0621, 0x064B),  # Arabic
    (0x0905, 0x093A),  # Devanagari letters
    (0x093E, 0x094E),  # Devanagari signs
    (0x0E01, 0x0E3B),  # Thai
    (0x3041, 0x3097),  # Hiragana
    (0x30A1, 0x30FB),  # Katakana
    (0x1F600, 0x1F650),  # faces
    (0x1F680, 0x1F6C6),  # transport
    (0x1F400, 0x1F43F),  # animals
    (0x00A1, 0x00AD),  # Latin signs
    (0x00AE, 0x00C0),  # Latin signs, without the invisible hyphen between
    (0x2010, 0x2027),  # dashes, quotation marks, dots
    (0x20A0, 0x20C0),  # currencies
    (0x2190, 0x2194),  # arrows
    (0x3001, 0x3011),  # Han punctuation
    (0xFF01, 0xFF1B),  # full-width punctuation and digits
)
_PAIRS = (
    ("бвгджзклмнпрстфхцчш", "аеиоуыя"),
    ("бвгджзклмнпрст", "ъьюэёй"),
    ("بتثجحخدرزسشصضطعغفقكلمنهوي", "اوي"),
    ("कखगघचछजझटठडढणतथदधनपफबभमयरलवशषसह", "ािीुूेो"),
    ("αβγδεζηθικλμνξοπρστυφχψω", "αεηιοως"),
)
_HANGUL = (0xAC00, 1_200, 9)
_HAN_BEGIN, _HAN_END = 0x4E00, 0xA000


def script_pieces() -> Iterator[str]:
    """Letters, signs, pairs and syllables, each once; ends with enough Han characters for any vocabulary size."""
    for begin, end in _LETTERS:
        yield from map(chr, range(begin, end))
    for consonants, vowels in _PAIRS:
        yield from ("".join(pair) for pair in product(consonants, vowels))
    first, count, step = _HANGUL
    yield from map(chr, range(first, first + count * step, step))
    yield from map(chr, range(_HAN_BEGIN, _HAN_END))
