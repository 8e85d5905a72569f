"""Conversations whose right answers are known, of known length in the model's tokens.

Owns: texts, from one seed. Does not own: a pair, or any expectation of a test. Floor: tests. Source: ours.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from kernels.engine.shared import SharedModel
from kernels.engine.vocabulary_words import stems

_LINE_WORDS = 20
_FACT_TOKENS = 40


@dataclass(frozen=True, slots=True)
class Talk:
    """A conversation so far. facts: what stands between the marks -> what must be recalled under it."""

    messages: tuple[Mapping[str, Any], ...] = ()
    facts: Mapping[str, str] = field(default_factory=dict)

    def told(self, text: str, facts: Mapping[str, str] | None = None) -> Talk:
        """The same, with one more message of the user's."""
        return Talk((*self.messages, {"role": "user", "content": text}), {**self.facts, **(facts or {})})

    def asking(self, name: str) -> tuple[Mapping[str, Any], ...]:
        """The messages of a request for what stands under `name`."""
        return self.told(f"Please call (({name})).").messages

    def answered(self, name: str) -> Talk:
        """The same, after the right answer to that request."""
        return Talk((*self.asking(name), {"role": "assistant", "content": self.facts[name]}), self.facts)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.facts)


class Writer:
    """Writes messages of words and facts."""

    def __init__(self, shared: SharedModel, seed: int) -> None:
        self._count = shared.reader.count_tokens
        self._rng = np.random.default_rng(seed)
        self._words = stems()

    def words(self, count: int) -> str:
        return " ".join(self._words[index] for index in self._rng.integers(0, len(self._words), count))

    def key(self) -> str:
        return f"k{self._rng.integers(1 << 40):010x}"

    def body(self) -> str:
        """A tool call of some twenty tokens."""
        return (
            f'{self.words(1)}_{self.words(1)} {{"id": "A-{self._rng.integers(1000, 9999)}", "to": "{self.words(3)}"}}'
        )

    def filler(self, token_count: int) -> list[str]:
        lines: list[str] = []
        spent = 0
        while spent < token_count:
            lines.append(self.words(_LINE_WORDS))
            spent += self._count(lines[-1]) + 1
        return lines

    def talk(self, token_count: int, *, fact_count: int = 3, after: Talk | None = None) -> Talk:
        """One more message of about `token_count` tokens, its facts spread over its first half."""
        facts = {self.key(): self.body() for _ in range(fact_count)}
        lines = self.filler(token_count - _FACT_TOKENS * fact_count)
        half = len(lines) // 2
        for index, (key, body) in enumerate(facts.items()):
            lines.insert((index + 1) * half // (fact_count + 1) + index, f"[[{key}]] {body}")
        return (after or Talk()).told("\n".join(lines), facts)

    def anchored(self, talk: Talk, anchors: Sequence[str]) -> tuple[Talk, tuple[str, ...]]:
        """One more message with a fact for each anchor, and enough behind them that their pages are whole.

        Returns: the talk, and the new facts' names.
        """
        facts = {f"{self.key()}|{anchor}": self.body() for anchor in anchors}
        lines = [f"[[{name}]] {body}" for name, body in facts.items()]
        return talk.told("\n".join([*self.filler(80), *lines, *self.filler(600)]), facts), tuple(facts)
