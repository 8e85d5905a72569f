"""Conversations made from a description: how many turns, how many tokens each, and of which text.

Owns: the description's fields and the making. Does not own: the distributions (`distributions.py`). Floor 5.
Source: facts/formats.md section 1; the field names are those of vLLM's benchmarks/multi_turn README. Lengths are in our
tokens, which are about a server's: a word is one or two.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Final

import numpy as np

from harness.live.workloads.distributions import Distribution, read_distribution
from harness.live.workloads.entries import UNREADABLE, Entry, open_text, unreadable
from harness.live.workloads.scripted import CountTokens, ScriptedSession, ScriptedTurn, written
from harness.load.workload.plan import Message
from harness.load.workload.prose import sentence
from harness.load.workload.words import load_vocabulary

FILETYPE: Final = "filetype"
GENERATE: Final = "generate_conversations"
_KNOWN: Final = (FILETYPE, "num_conversations", "text_files", "prompt_input", "prompt_output", "print_stats")
_ASKED: Final = "Please write the following text anew, and add to it:"
_SENTENCES: Final = 4_000
_TURNS_MIN: Final = 2
_CONSTANT_ZERO: Final = Distribution("constant", value=0.0)


@dataclass(frozen=True, slots=True, eq=False)
class _Text:
    """Pieces of a text, and how many tokens stand in front of each."""

    pieces: tuple[str, ...]
    tokens_before: tuple[int, ...]

    def cut(self, at: int, tokens: int) -> str:
        """About so many tokens from piece `at` on; the text begins anew where it ends."""
        cut: list[str] = []
        while tokens > 0:
            at %= len(self.pieces)
            begin = self.tokens_before[at]
            last = int(np.searchsorted(self.tokens_before, begin + tokens, side="right")) - 1
            last = max(last, at + 1)
            cut += self.pieces[at:last]
            tokens -= self.tokens_before[last] - begin
            at = last
        return "".join(cut).strip()


class VllmGenerator:
    """Raises, when it is made: ConfigError for a field that is missing or not what it must be."""

    def __init__(self, entry: Entry, seed: int, count_tokens: CountTokens, left_out: Counter[str]) -> None:
        entry.count_unknown(_KNOWN, left_out)
        self._seed = seed
        self._count = entry.field("num_conversations", int)
        if self._count < 1:
            raise entry.refuse("field 'num_conversations' must be 1 or more")
        asked, answered = (Entry(entry.file, entry.line, entry.field(name, dict)) for name in _KNOWN[3:5])
        self._turns = read_distribution(asked, "num_turns")
        self._question_tokens = read_distribution(asked, "num_tokens")
        self._prefix_tokens = read_distribution(asked, "prefix_num_tokens")
        has_common = asked.fields.get("common_prefix_num_tokens") is not None
        self._common = read_distribution(asked, "common_prefix_num_tokens") if has_common else _CONSTANT_ZERO
        self._answer_tokens = read_distribution(answered, "num_tokens")
        self._text = _read_text(entry, seed, count_tokens)

    def __repr__(self) -> str:
        return f"VllmGenerator({self._count} conversations, seed {self._seed})"

    def sessions(self) -> Iterator[ScriptedSession]:
        common = self._text.cut(0, self._common.draw(np.random.default_rng([self._seed, 15])))
        for number in range(self._count):
            yield self._session(number, common)

    def _session(self, number: int, common: str) -> ScriptedSession:
        rng = np.random.default_rng([self._seed, 16, number])
        # Turns of both sides are counted, and each question has its answer.
        count = max(_TURNS_MIN, self._turns.draw(rng))
        turns = []
        said: list[Message] = []
        for turn in range(-(-count // 2)):
            parts = [common, self._stretch(rng, self._prefix_tokens.draw(rng))] if turn == 0 else []
            question = self._stretch(rng, max(1, self._question_tokens.draw(rng)))
            text = "\n".join(part for part in (*parts, _ASKED, question) if part)
            limit = max(1, self._answer_tokens.draw(rng))
            turns.append(ScriptedTurn(written([*said, {"role": "user", "content": text}]), max_tokens=limit))
            said = [{"role": "assistant", "content": self._stretch(rng, limit)}]
        return ScriptedSession(number, tuple(turns))

    def _stretch(self, rng: np.random.Generator, tokens: int) -> str:
        return self._text.cut(int(rng.integers(len(self._text.pieces))), tokens)


def _read_text(entry: Entry, seed: int, count_tokens: CountTokens) -> _Text:
    """The text files that are named, beside the description or by a whole path; else prose of our own."""
    names = entry.optional("text_files", list) or []
    if not all(isinstance(name, str) for name in names):
        raise entry.refuse("field 'text_files' is no list of file names")
    texts = []
    for name in names:
        path = Path(entry.file.parent, name)
        try:
            with open_text(path) as stream:
                texts.append(stream.read())
        except UNREADABLE as problem:
            raise unreadable(path, problem) from None
    text = "\n".join(texts) if names else _prose(seed)
    pieces = tuple(re.findall(r"\s*\S+", text))
    if not pieces:
        raise entry.refuse("its text files hold no text")
    counts: dict[str, int] = {}
    for piece in pieces:
        if piece not in counts:
            counts[piece] = max(1, count_tokens(piece))
    return _Text(pieces, tuple(accumulate((counts[piece] for piece in pieces), initial=0)))


def _prose(seed: int) -> str:
    vocabulary, rng = load_vocabulary(), np.random.default_rng([seed, 17])
    return "\n".join(sentence(vocabulary, rng) for _ in range(_SENTENCES))
