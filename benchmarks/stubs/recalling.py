"""Stub models for live runs: they find what a question asks for, and some fail at it by themselves.

Owns: reading the built-in workload's entries and words, models that fail a share of their prompts (the same ones each
time, or by chance), that know no calls or no long prompts, and a cache whose pages a load has spoiled. Does not own:
what goes wrong under load (`behaviour`), HTTP (`server`). Source: ours.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

import numpy as np

from benchmarks.stubs.behaviour import CORRUPT_RESIDENT_MIN, PREFIX_CHARACTERS, StubEngine, StubReply, StubToken

_QUESTION = re.compile(r"\(\(([^()]+)\)\)")
_ENTRY = re.compile(r"([\w.-]+) (\{.*\})")
_SECRET = re.compile(r"secret word of all these notes is (\w+)\.")
_REPEAT = re.compile(r"Repeat this word and say nothing else: (\w+)")
_ASKS_SECRET = "What is the secret word of all these notes?"
Call = tuple[str, dict[str, Any]]


@dataclass(slots=True)
class RecallingEngine(StubEngine):
    """fails: share of prompts that it answers wrongly by itself. is_fickle: by chance, not by prompt.

    calls, words: whether it can recall them at all. sees: characters of a prompt; of a longer one it recalls nothing.
    spoils: share of prompts whose cached pages a load of four or more spoils, until the cache is emptied.
    breaks: share of prompts that are answered wrongly whenever their beginning comes from the cache, load or no load.
    """

    fails: float = 0.0
    is_fickle: bool = False
    calls: bool = True
    words: bool = True
    sees: int = 1 << 40
    spoils: float = 0.0
    breaks: float = 0.0
    spoiled: set[str] = field(default_factory=set)
    word: str | None = None

    def flush(self) -> None:
        StubEngine.flush(self)
        self.spoiled.clear()

    def asked_call(self, prompt: str) -> Call | None:
        """The entry that the last question names."""
        asked = _QUESTION.findall(prompt.rpartition("\n")[2])
        if not asked or not self.calls or len(prompt) > self.sees:
            return None
        at = prompt.find(f"[[{asked[-1]}]] ")
        match = _ENTRY.match(prompt, at + len(asked[-1]) + 5) if at >= 0 else None
        return None if match is None else (match[1], json.loads(match[2]))

    def asked_word(self, prompt: str) -> str | None:
        question = prompt.rpartition("\n")[2]
        repeated = _REPEAT.match(question)
        if repeated is not None:
            return repeated[1]
        if not question.startswith(_ASKS_SECRET) or not self.words or len(prompt) > self.sees:
            return None
        secret = _SECRET.search(prompt)
        return None if secret is None else secret[1]

    def answer(self, prompt: str) -> StubReply:
        own = np.random.default_rng(int.from_bytes(blake2b(b"own" + prompt.encode(), digest_size=8).digest()))
        drawn = self.rng.random() if self.is_fickle else own.random()
        if self.spoils and self.resident >= CORRUPT_RESIDENT_MIN and own.random() < self.spoils:
            self.spoiled.add(prompt)
        is_broken = own.random() < self.breaks and len(prompt) >= PREFIX_CHARACTERS
        is_wrong = (
            drawn < self.fails or prompt in self.spoiled or (is_broken and prompt[:PREFIX_CHARACTERS] in self.seen)
        )
        word = self.asked_word(prompt)
        self.word = f"un{word}" if word is not None and is_wrong else word
        reply = StubEngine.answer(self, prompt)
        if reply.call is None or not is_wrong:
            return reply
        return StubReply(_mistaken(reply.tokens), _other(reply.call), reply.prompt_tokens, reply.cached_tokens)

    def _sound(self, fresh: np.random.Generator) -> tuple[StubToken, ...]:
        tokens = StubEngine._sound(self, fresh)
        return tokens if self.word is None else (*tokens, StubToken(f" {self.word}", -0.2, f" {self.word[::-1]}", -3.2))


def _mistaken(tokens: tuple[StubToken, ...]) -> tuple[StubToken, ...]:
    """It is as sure of a wrong reply as of a right one."""
    return (StubToken("maybe ", -0.2, tokens[0].text, -2.2), *tokens[1:])


def _other(call: Call) -> Call:
    name, arguments = call
    changed = {key: value + 7 if isinstance(value, int) and not isinstance(value, bool) else f"{value}?"
               for key, value in arguments.items()}  # fmt: skip
    return name, changed
