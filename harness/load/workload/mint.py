"""Keys and secret words: random, pronounceable, each given out once in a run.

Owns: uniqueness over the run. Does not own: where they are written. Floor 5.
Keys end in digits and secrets have none, and all secrets are equally long: so no key holds a secret, and no
secret is part of another. An oracle may look for them with a plain substring search.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet

import numpy as np

CONSONANTS = "bdfgklmnprstvz"
SOUNDS = "aeiou"


class Mint:
    """Gives out keys and secrets; `forbidden` words (the filler's) never become a secret."""

    def __init__(self, rng: np.random.Generator, forbidden: AbstractSet[str]) -> None:
        self._rng = rng
        self._forbidden = forbidden
        self._given: set[str] = set()

    def key(self) -> str:
        """Two syllables and four digits, for example `rako4821`."""
        return self._fresh(syllables=2, ending="digits")

    def secret(self) -> str:
        """Four syllables and a consonant, for example `velarimot`."""
        return self._fresh(syllables=4, ending="consonant")

    def _fresh(self, *, syllables: int, ending: str) -> str:
        while True:
            picks = self._rng.integers(0, 1 << 31, size=2 * syllables + 1).tolist()
            sounds = [
                CONSONANTS[a % len(CONSONANTS)] + SOUNDS[b % len(SOUNDS)]
                for a, b in zip(picks[0::2], picks[1::2], strict=False)
            ]
            last = picks[-1]
            tail = f"{last % 10_000:04d}" if ending == "digits" else CONSONANTS[last % len(CONSONANTS)]
            word = "".join(sounds) + tail
            if word not in self._given and word not in self._forbidden:
                self._given.add(word)
                return word

    def __repr__(self) -> str:
        return f"Mint(given={len(self._given)})"
