"""Filler prose: sentences from templates, and a pool of lines whose length in tokens is known.

Owns: sentences without meaning and without grammar marks. Does not own: where they go (`runbook`). Floor 5.
Counting tokens is the slow part of building a workload, so each line is counted once and drawn many times; a
message draws without repeating a line until the pool is used up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from harness.load.workload.words import VOWELS, Vocabulary

CountTokens = Callable[[str], int]


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a message, its newline included, and its tokens where it stands between other lines."""

    text: str
    tokens: int


@dataclass(frozen=True, slots=True)
class LinePool:
    lines: tuple[Line, ...]

    @property
    def longest_tokens(self) -> int:
        return max(line.tokens for line in self.lines)

    def shuffled(self, rng: np.random.Generator) -> Iterator[Line]:
        """An endless stream of the lines, one permutation after the other."""
        while True:
            for index in rng.permutation(len(self.lines)):
                yield self.lines[int(index)]


class LineCounter:
    """Counts a line as part of a text. A tokenizer may add tokens at the edges of a text, or none; this sees only
    what the line itself adds behind another line."""

    def __init__(self, count_tokens: CountTokens) -> None:
        self._count_tokens = count_tokens
        self._before = "The end.\n"
        self._before_tokens = count_tokens(self._before)

    def line(self, text: str) -> Line:
        return Line(text, self._count_tokens(self._before + text) - self._before_tokens)

    def __repr__(self) -> str:
        return f"LineCounter(before={self._before!r}, before_tokens={self._before_tokens})"


def make_pool(vocabulary: Vocabulary, counter: LineCounter, rng: np.random.Generator, line_count: int) -> LinePool:
    """Lines of one to three sentences each."""
    lines = []
    for sentence_count in rng.integers(1, 4, size=line_count):
        sentences = (sentence(vocabulary, rng) for _ in range(sentence_count))
        lines.append(counter.line(" ".join(sentences) + "\n"))
    return LinePool(tuple(lines))


def sentence(vocabulary: Vocabulary, rng: np.random.Generator) -> str:
    """One sentence: a template with every slot filled."""
    template = vocabulary.sentences[int(rng.integers(len(vocabulary.sentences)))]
    picks = rng.integers(0, 1 << 31, size=len(template)).tolist()
    words: list[str] = []
    for word, pick in zip(template, picks, strict=True):
        forms = vocabulary.forms.get(word[0]) if word[0].isupper() else None
        filled = forms[pick % len(forms)] + word[1:] if forms else word
        # `a` was written before the slot's word was known.
        if words and words[-1] == "a" and filled[0] in VOWELS:
            words[-1] = "an"
        words.append(filled)
    text = " ".join(words)
    return text[0].upper() + text[1:]
