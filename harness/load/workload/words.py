"""The words of the filler prose: `data/words.toml`, with plurals and verb forms made by rule.

Owns: spelling rules for the regular words of that file. Does not own: sentences (`prose`). Floor 5.
Source: our own list of common words.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

DATA_DIR = Path(__file__).resolve().parent / "data"

VOWELS = "aeiou"


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """forms: what each slot letter of a template may become. sentences: templates, split into words and slots."""

    forms: Mapping[str, tuple[str, ...]]
    sentences: tuple[tuple[str, ...], ...]
    nouns: tuple[str, ...]
    adjectives: tuple[str, ...]

    @property
    def words(self) -> frozenset[str]:
        """Every form that a sentence may hold, capital letters aside."""
        fixed = {word.strip(".,;:") for sentence in self.sentences for word in sentence}
        return frozenset(form for forms in self.forms.values() for form in forms) | fixed


def load_vocabulary(file: Path = DATA_DIR / "words.toml") -> Vocabulary:
    table = tomllib.loads(file.read_text(encoding="utf-8"))
    nouns, verbs = table["nouns"].split(), table["verbs"].split()
    forms = {
        "N": nouns,
        "P": [with_s(noun) for noun in nouns],
        "V": verbs,
        "S": [with_s(verb) for verb in verbs],
        "D": [with_ed(verb) for verb in verbs],
        "G": [with_ing(verb) for verb in verbs],
        "A": table["adjectives"].split(),
        "R": table["adverbs"].split(),
        "L": table["places"].split(),
        "M": table["numerals"].split(),
        "O": table["prepositions"].split(),
    }
    return Vocabulary(
        forms=MappingProxyType({slot: tuple(words) for slot, words in forms.items()}),
        sentences=tuple(tuple(line.split()) for line in table["sentences"].strip().splitlines()),
        nouns=tuple(nouns),
        adjectives=tuple(forms["A"]),
    )


def with_s(word: str) -> str:
    """Plural of a noun, third person of a verb."""
    if word.endswith("man"):
        return word[:-3] + "men"
    if word.endswith(("s", "x", "z", "ch", "sh")) or word in ("potato", "tomato"):
        return word + "es"
    if word.endswith("y") and word[-2] not in VOWELS:
        return word[:-1] + "ies"
    return word + "s"


def with_ed(verb: str) -> str:
    """Past tense of a regular verb."""
    if verb.endswith("e"):
        return verb + "d"
    if verb.endswith("y") and verb[-2] not in VOWELS:
        return verb[:-1] + "ied"
    return _doubled(verb) + "ed"


def with_ing(verb: str) -> str:
    if verb.endswith("e") and not verb.endswith("ee"):
        return verb[:-1] + "ing"
    return _doubled(verb) + "ing"


def _doubled(verb: str) -> str:
    """The verbs of the list whose last consonant doubles: `wrap` to `wrapp`."""
    return verb + verb[-1] if verb in ("wrap", "equip", "submit") else verb
