"""What the proxy remembers of conversations that passed, so that one can leak into another.

Owns: telling conversations apart, and which words are private to one: those of its calls that no other one ever saw.
Does not own: the leaking (`damage/text.py`). Floor 5. Source: ours.
"""

from __future__ import annotations

import re
from collections import Counter, OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from itertools import islice
from typing import Any, Final

import numpy as np
import orjson

from results.records import ExpectedCall

CONVERSATIONS_MAX: Final = 64
REPLIES_MAX: Final = 16
_PRIVATE_WORDS: Final = 4
_WORD: Final = re.compile(rb"\b[a-z][a-z-]{7,}\b")


@dataclass(frozen=True, slots=True)
class Passed:
    """A reply as it passed: its bytes, and whether they are an event stream."""

    raw: bytes
    is_stream: bool


@dataclass(slots=True)
class _Conversation:
    """request: of its last turn, which holds all turns before. replies: the last ones, unread."""

    request: bytes = b""
    replies: list[Passed] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Leak:
    """A call of another conversation, and words that only that one knows, the most used first."""

    call: ExpectedCall
    words: tuple[str, ...]


NO_LEAK: Final = Leak(ExpectedCall("", {}), ())
"""For damage that takes nothing from anybody."""


class Memory:
    """The last conversations, the one that spoke last at the end.

    call_of: reads a reply. It is asked only when something is to leak, so that passing on stays cheap.
    """

    def __init__(self, call_of: Callable[[Passed], ExpectedCall | None]) -> None:
        self._call_of = call_of
        self._known: OrderedDict[str, _Conversation] = OrderedDict()

    def __repr__(self) -> str:
        return f"Memory({len(self._known)} conversations)"

    def keep(self, conversation: str, request: bytes, reply: Passed) -> None:
        known = self._known.setdefault(conversation, _Conversation())
        self._known.move_to_end(conversation)
        known.request = request
        known.replies = [*known.replies[1 - REPLIES_MAX :], reply]
        while len(self._known) > CONVERSATIONS_MAX:
            self._known.popitem(last=False)

    def other(self, conversation: str, request: bytes, rng: np.random.Generator) -> Leak | None:
        """What could leak out of another conversation; None where no other one is known that has private words."""
        names = [name for name in self._known if name != conversation]
        for index in rng.permutation(len(names)):
            name = names[int(index)]
            calls = [call for reply in self._known[name].replies if (call := self._call_of(reply)) is not None]
            words = self._private(name, calls, request)
            if words:
                return Leak(calls[int(rng.integers(len(calls)))], words)
        return None

    def _private(self, name: str, calls: Sequence[ExpectedCall], request: bytes) -> tuple[str, ...]:
        """Words of these calls that stand in nobody else's request, the most used first."""
        used = Counter(word for call in calls for word in _WORD.findall(orjson.dumps(call.arguments)))
        elsewhere = [request, *(known.request for other, known in self._known.items() if other != name)]
        private = (word.decode() for word, _ in used.most_common() if not any(word in text for text in elsewhere))
        return tuple(islice(private, _PRIVATE_WORDS))


def conversation_of(fields: dict[str, Any]) -> str:
    """Two requests with one beginning, up to the first thing a user said, are turns of one conversation."""
    messages = fields.get("messages")
    beginning: list[Any] = []
    for message in messages if isinstance(messages, list) else ():
        beginning.append(message)
        if isinstance(message, dict) and message.get("role") == "user":
            break
    return blake2b(orjson.dumps(beginning), digest_size=12).hexdigest()
