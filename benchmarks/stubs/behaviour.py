"""Five servers that are sound or wrong in one known way each: what they answer, without any socket.

Owns: S sound; N sound, with the near ties of bf16 under load; C corrupt under load, now and then; R wrong when a long
prefix returns after others; T wrong under load, and always in the same way. And what makes a test of them vacuous: one
request at a time, no cache. Does not own: HTTP (`server`). Source: the behaviours are those of peers.md section 4; the
code is ours.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from enum import StrEnum
from hashlib import blake2b
from typing import Any

import numpy as np

RIVAL_MARGIN_MIN = 0.5
NEAR_TIE_MARGIN = 0.008
NOISE_LOGPROB = 0.02
TIED_SHARE = 0.12
CORRUPT_SHARE = 0.15
CORRUPT_RESIDENT_MIN = 4
WRONG_SHARE = 0.12
PREFIX_CHARACTERS = 4_000
PREFIX_AGE_REQUESTS = 40

_CALL = re.compile(r"CALL (?P<name>[\w-]+) (?P<arguments>\{.*\})", re.DOTALL)
_WORDS = (
    "I",
    "will",
    "store",
    "note",
    "this",
    "under",
    "your",
    "first",
    "label",
    "and",
    "then",
    "check",
    "list",
    "again",
    "before",
    "going",
    "further",
    "with",
    "care",
    "short",
    "report",
    "here",
    "nothing",
    "else",
    "changes",
    "for",
)
_TAILS = (("right away", "at once"), ("right now", "straight on"), ("this minute", "very soon"))
_FOREIGN = ("слово", "天气", "kernel", "كتاب", "olive", "सम", "lantern", "год", "函数", "warm", "ספר", "harbour", "και")


class Behaviour(StrEnum):
    SOUND = "S"
    NUMERIC = "N"
    CORRUPT = "C"
    RETURNING = "R"
    REPEATABLE = "T"


@dataclass(frozen=True, slots=True)
class StubToken:
    text: str
    logprob: float
    rival: str
    rival_logprob: float


@dataclass(frozen=True, slots=True)
class StubReply:
    """cached_tokens: None where the server does not say."""

    tokens: tuple[StubToken, ...]
    call: tuple[str, dict[str, Any]] | None
    prompt_tokens: int
    cached_tokens: int

    @property
    def content(self) -> str:
        return "".join(token.text for token in self.tokens)


@dataclass(slots=True)
class StubEngine:
    """Answers prompts; the only state is what a cache would hold, and how many requests are in work."""

    behaviour: Behaviour
    rng: np.random.Generator
    has_cache: bool = True
    resident: int = 0
    requests: int = 0
    seen: dict[str, int] = field(default_factory=dict)
    last_call: tuple[str, dict[str, Any]] | None = None

    def flush(self) -> None:
        self.seen.clear()

    def asked_call(self, prompt: str) -> tuple[str, dict[str, Any]] | None:
        """What a sound server answers."""
        return _asked_call(prompt)

    def answer(self, prompt: str) -> StubReply:
        self.requests += 1
        prefix = prompt[:PREFIX_CHARACTERS]
        age = self.requests - self.seen.get(prefix, self.requests)
        is_known = prefix in self.seen
        self.seen[prefix] = self.requests
        fresh = np.random.default_rng(int.from_bytes(blake2b(prompt.encode(), digest_size=8).digest()))
        tokens, call = self._sound(fresh), self.asked_call(prompt)
        before, self.last_call = self.last_call, call
        if self.behaviour is Behaviour.CORRUPT and self.resident >= CORRUPT_RESIDENT_MIN:
            if self.rng.random() < CORRUPT_SHARE:
                tokens, call = self._derailed(tokens), None
        elif self.behaviour is Behaviour.RETURNING:
            is_long = len(prompt) >= PREFIX_CHARACTERS
            if is_long and is_known and age > PREFIX_AGE_REQUESTS:
                tokens, call = self._derailed(tokens) if call is None else tokens, before
        elif self.behaviour is Behaviour.REPEATABLE and self.resident > 1 and fresh.random() < WRONG_SHARE:
            tokens, call = _wrong(tokens), _altered(call)
        cached = PREFIX_CHARACTERS // 4 if is_known and self.has_cache and len(prompt) >= PREFIX_CHARACTERS else 0
        return StubReply(tokens, call, len(prompt) // 4, cached)

    def _sound(self, fresh: np.random.Generator) -> tuple[StubToken, ...]:
        """A sentence that follows from the prompt alone; its end may be a near tie, which noise under load decides."""
        words = [str(word) for word in fresh.choice(_WORDS, size=int(fresh.integers(9, 14)))]
        tokens = []
        for word in words:
            logprob = -float(fresh.uniform(0.02, 0.4))
            margin = float(fresh.uniform(RIVAL_MARGIN_MIN, 4.0))
            tokens.append(StubToken(f"{word} ", logprob, f"{word}s ", logprob - margin))
        one, other = _TAILS[int(fresh.integers(len(_TAILS)))]
        is_tied = fresh.random() < TIED_SHARE
        margin = NEAR_TIE_MARGIN if is_tied else float(fresh.uniform(RIVAL_MARGIN_MIN, 4.0))
        tokens.append(StubToken(one, -0.7, other, -0.7 - margin))
        if self.behaviour is Behaviour.NUMERIC and self.resident > 1:
            tokens = [self._noisy(token) for token in tokens]
        return tuple(tokens)

    def _noisy(self, token: StubToken) -> StubToken:
        chosen = token.logprob + float(self.rng.uniform(-NOISE_LOGPROB, NOISE_LOGPROB))
        rival = token.rival_logprob + float(self.rng.uniform(-NOISE_LOGPROB, NOISE_LOGPROB))
        if rival > chosen:
            return StubToken(token.rival, rival, token.text, chosen)
        return StubToken(token.text, chosen, token.rival, rival)

    def _derailed(self, tokens: tuple[StubToken, ...]) -> tuple[StubToken, ...]:
        words = self.rng.choice(_FOREIGN, size=int(self.rng.integers(8, 20)))
        return (tokens[0], *(StubToken(f"{word} ", -2.0, "and ", -2.5) for word in words))


def _wrong(tokens: tuple[StubToken, ...]) -> tuple[StubToken, ...]:
    """The same sentence with its second word replaced."""
    return (tokens[0], StubToken("never ", -0.3, tokens[1].text, -1.0), *tokens[2:])


def _altered(call: tuple[str, dict[str, Any]] | None) -> tuple[str, dict[str, Any]] | None:
    if call is None:
        return None
    name, arguments = call
    return name, {key: value + 1 if isinstance(value, int) else value for key, value in arguments.items()}


def _asked_call(prompt: str) -> tuple[str, dict[str, Any]] | None:
    """The call that the last question of a prompt asks for, in so many words."""
    asked = prompt.rfind("CALL ")
    match = _CALL.match(prompt, asked) if asked >= 0 else None
    return None if match is None else (match["name"], json.loads(match["arguments"]))
