"""Secrets out of text and JSON, each for a stand-in of its own: equal secrets stay equal, so prefixes stay shared.

Owns: which stand-in a secret gets, and the memory of secrets that only their surroundings gave away. Does not own: what
secrets look like (`shapes.py`). The secrets are kept in this process's memory and nowhere else. Floor 5. Source: ours.
"""

from __future__ import annotations

import json
import re
from collections import Counter, OrderedDict, deque
from collections.abc import Sequence
from dataclasses import dataclass
from math import log2
from typing import Any, Final, Literal

from harness.capture.scrubbing.shapes import NAMED, PERSONAL, RANDOM_LOOKING, SECRETS, SecretShape

Mode = Literal["secrets", "strict", "keep-text"]
MODES: Final[tuple[Mode, ...]] = ("secrets", "strict", "keep-text")

OWN: Final = "own"
HEADER: Final = "header"

_HEADERS_MAX: Final = 256
_ENTROPY_BITS_MIN: Final = 3.5
_REMEMBERED_CHARACTERS_MAX: Final = 64 * 1024 * 1024
_NO_SECRET: Final = re.compile(r"[\[<{$%*]|(?:null|none|true|false|undefined|string|required|redacted)$", re.IGNORECASE)
"""A stand-in, a variable, or a word of a schema."""
_LINE_ENDS: Final = re.compile(r"\s|\\+[rn]")
_SHORT_CHARACTERS: Final = 6
_LONG_CHARACTERS: Final = 20


@dataclass(frozen=True, slots=True)
class ScrubRules:
    """mode: keep-text changes nothing but what the proxy itself was told to be a secret (headers).

    patterns: the user's own; the whole match goes, or its group `secret`. words: the user's own, as they are.
    """

    mode: Mode = "secrets"
    patterns: tuple[re.Pattern[str], ...] = ()
    words: tuple[str, ...] = ()

    def sentence(self) -> str:
        own = [f"{len(self.patterns)} patterns"] * bool(self.patterns) + [f"{len(self.words)} words"] * bool(self.words)
        return " and ".join([self.mode, *own])


class SecretScrubber:
    """One for one capture. counts: how many different secrets of each kind were replaced or learned.

    learned: secret -> stand-in. generation: moves on with each that a text gives away.
    """

    def __init__(self, rules: ScrubRules) -> None:
        self.rules = rules
        self.counts: Counter[str] = Counter()
        self.learned: dict[str, str] = {}
        self.generation = 0
        self._stand_ins: dict[str, str] = {}
        self._shapes = _shapes_of(rules)
        self._seen: OrderedDict[str, str] = OrderedDict()
        self._seen_characters = 0
        self._headers: deque[str] = deque()
        for word in rules.words:
            self.learn(word, OWN)

    def __repr__(self) -> str:
        return f"SecretScrubber({self.rules.mode}, {dict(self.counts)})"

    def learn(self, secret: str, kind: str) -> None:
        """From now on it is replaced wherever it stands. A value that any text may hold by chance is not learned."""
        if not secret or secret in self.learned or not (kind == OWN or _is_recognisable(secret)):
            return
        self.learned[secret] = self._stand_in(secret, kind)
        self.generation += kind != HEADER
        if kind == HEADER:
            # A client may show another token with each request; an answer repeats at most its own.
            self._headers.append(secret)
            if len(self._headers) > _HEADERS_MAX:
                del self.learned[self._headers.popleft()]
        self.learned = dict(sorted(self.learned.items(), key=lambda item: -len(item[0])))
        for text in [text for text in self._seen if secret in text]:
            self._forget(text)

    def value(self, value: Any) -> Any:
        """JSON without its secrets. A secret that is recognised late in it is replaced in its beginning too."""
        known = self.generation
        cleaned = self._value(value)
        return cleaned if self.generation == known else self._value(value)

    def text(self, text: str) -> str:
        """Remembers what it has cleaned: a conversation repeats its history with every request."""
        found = self._seen.get(text)
        if found is not None:
            self._seen.move_to_end(text)
            return found
        cleaned = self._cleaned(text)
        self._seen[text] = cleaned
        self._seen_characters += len(text)
        while self._seen_characters > _REMEMBERED_CHARACTERS_MAX:
            self._forget(next(iter(self._seen)))
        return cleaned

    def _forget(self, text: str) -> None:
        del self._seen[text]
        self._seen_characters -= len(text)

    def spelled(self) -> list[tuple[bytes, bytes]]:
        """Every learned secret as JSON spells it, with its stand-in: for lines that are older than the knowledge."""
        return [(json.dumps(secret, ensure_ascii=False)[1:-1].encode("utf-8", "backslashreplace"), stand_in.encode())
                for secret, stand_in in self.learned.items()]  # fmt: skip

    def _value(self, value: Any, name: str = "") -> Any:
        if isinstance(value, str):
            is_named = self.rules.mode != "keep-text" and NAMED.fullmatch(name) is not None
            if is_named and len(value) >= 4 and not _NO_SECRET.match(value):
                self.learn(value, "password")
                return self._stand_in(value, "password")
            return self.text(value)
        if isinstance(value, dict):
            return {self.text(key): self._value(item, key) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [self._value(item) for item in value]
        return value

    def _cleaned(self, text: str) -> str:
        for secret, stand_in in self.learned.items():
            if secret in text:
                text = text.replace(secret, stand_in)
        for pattern in self.rules.patterns:
            text = pattern.sub(lambda match: self._replaced(match, OWN), text)
        if self.rules.mode == "keep-text":
            return text
        lowered = text.lower()
        for shape in self._shapes:
            if any(anchor in lowered for anchor in shape.anchors):
                text = self._without(shape, text)
        return RANDOM_LOOKING.sub(self._unknown_key, text) if self.rules.mode == "strict" else text

    def _without(self, shape: SecretShape, text: str) -> str:
        if shape.lead is None:
            return shape.pattern.sub(lambda match: self._replaced(match, shape.kind), text)
        pieces, done = [], 0
        for lead in shape.lead.finditer(_lowered(text)):
            match = shape.pattern.match(text, lead.end()) if lead.end() >= done else None
            if match is not None:
                pieces += [text[done : match.start()], self._replaced(match, shape.kind, is_learned=True)]
                done = match.end()
        return "".join([*pieces, text[done:]])

    def _replaced(self, match: re.Match[str], kind: str, *, is_learned: bool = False) -> str:
        groups = match.groupdict()
        group: str | int = next((name for name in ("secret", "bare") if groups.get(name)), 0)
        secret, whole = match.group(group), match.group()
        if not secret or (kind != OWN and _NO_SECRET.match(secret)):
            return whole
        if is_learned:
            self.learn(secret, kind)
        begin, end = match.start(group) - match.start(), match.end(group) - match.start()
        return whole[:begin] + self._stand_in(secret, kind) + whole[end:]

    def _unknown_key(self, match: re.Match[str]) -> str:
        word = match.group()
        is_random = (
            any(map(str.isdigit, word)) and any(map(str.isalpha, word)) and _entropy_bits(word) > _ENTROPY_BITS_MIN
        )
        return self._stand_in(word, "random") if is_random else word

    def _stand_in(self, secret: str, kind: str) -> str:
        # A key of several lines is the same one where JSON has spelled its line ends.
        same = _LINE_ENDS.sub("", secret)
        known = self._stand_ins.get(same)
        if known is None:
            self.counts[kind] += 1
            known = self._stand_ins[same] = f"[{kind}-{self.counts[kind]}]"
        return known


def _shapes_of(rules: ScrubRules) -> Sequence[SecretShape]:
    return (*SECRETS, *PERSONAL) if rules.mode == "strict" else SECRETS


def _lowered(text: str) -> str:
    """In lower case, character for character: the places of what is found in it are those of the text."""
    lowered = text.lower()
    return lowered if len(lowered) == len(text) else "".join(one.lower() if one.isascii() else one for one in text)


def _is_recognisable(secret: str) -> bool:
    """Long, or of several sorts of characters: `password` as a password would take the word out of every text."""
    if len(secret) < _SHORT_CHARACTERS or _NO_SECRET.match(secret):
        return False
    sorts = (str.islower, str.isupper, str.isdigit, lambda one: not one.isalnum())
    return len(secret) >= _LONG_CHARACTERS or sum(any(map(sort, secret)) for sort in sorts) > 1


def _entropy_bits(word: str) -> float:
    """Of a character, by the word's own frequencies."""
    return -sum(count / len(word) * log2(count / len(word)) for count in Counter(word).values())
