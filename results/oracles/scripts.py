"""Writing systems of letters and words, by the Unicode names of characters.

Owns: which letters belong together. Does not own: when a mixture is wrong (`salad`). Floor 3.
Source: `unicodedata` (a letter's name begins with its script); the families are ours.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from itertools import groupby

LATIN = "LATIN"
EAST_ASIAN = "EAST ASIAN"

# One family: Japanese and Korean text uses Chinese characters beside its own, and often in one word.
_EAST_ASIAN_NAMES = frozenset(
    ("CJK", "HIRAGANA", "KATAKANA", "HALFWIDTH", "HANGUL", "BOPOMOFO", "KANGXI", "IDEOGRAPHIC", "KATAKANA-HIRAGANA")
)
# Letters by category that are signs by use, in text of any script.
_SIGN_NAMES = frozenset(
    ("MATHEMATICAL", "DOUBLE-STRUCK", "SCRIPT", "BLACK-LETTER", "MODIFIER", "FEMININE", "MASCULINE", "MICRO")
) | frozenset(("OHM", "KELVIN", "ANGSTROM"))
_LETTERS = re.compile(r"[^\W\d_]+")


@lru_cache(maxsize=65_536)
def script_of(letter: str) -> str | None:
    """The script family of one letter, None for what belongs to every script (digits, signs, marks, punctuation)."""
    if not unicodedata.category(letter).startswith("L"):
        return None
    first, _, rest = unicodedata.name(letter, "UNNAMED").partition(" ")
    if first in _SIGN_NAMES:
        return None
    if first == "FULLWIDTH":
        return LATIN
    if first in _EAST_ASIAN_NAMES:
        return EAST_ASIAN
    return first if rest else None


def word_scripts(line: str) -> list[tuple[str, int, int]]:
    """(script, begin, end) of each stretch of letters of one script. A lone Greek letter is a symbol, no word."""
    stretches = []
    for match in _LETTERS.finditer(line):
        begin = match.start()
        if match[0].isascii():
            stretches.append((LATIN, begin, match.end()))
            continue
        for script, letters in groupby(match[0], script_of):
            end = begin + len(tuple(letters))
            if script is not None and not (script == "GREEK" and end - begin == 1):
                stretches.append((script, begin, end))
            begin = end
    return stretches


def scripts_of(text: str) -> frozenset[str]:
    """Every script that a text uses, for telling a judge what a prompt's reply may be written in."""
    if text.isascii():
        return frozenset((LATIN,))
    return frozenset(script for script in map(script_of, set(text)) if script is not None)
