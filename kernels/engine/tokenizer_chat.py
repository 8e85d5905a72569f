"""Chat messages to tokens, one message at a time.

Owns: the chat format, and the cache of tokenised messages. Does not own: facts and references inside the text
(`recall/contexts.py`), HTTP bodies, the parsing of replies. Floor 2c. Source: ours; the message fields are OpenAI's.

Each message becomes one *segment*, `<|role|> text <|end|>`, tokenised alone and joined by special tokens only. So the
tokens of a longer conversation extend those of a shorter one. An assistant's segment ends with a newline before
`<|end|>`, because a reply ends with the newline that the model recalled: history has the tokens that were emitted.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from sys import getsizeof
from typing import Any

import numpy as np

from kernels.engine.tokenizer import TokenIds, Tokenizer
from kernels.engine.vocabulary import ASSISTANT, END, NEWLINE, SYSTEM, TOOL, USER, VOCABULARY_SIZE
from kernels.errors import KVRaceError

Message = Mapping[str, Any]

ROLES = {
    "system": SYSTEM,
    "developer": SYSTEM,
    "user": USER,
    "assistant": ASSISTANT,
    "tool": TOOL,
    "function": TOOL,
}

NO_REFERENCE_FACT = "[[]] Put a key in double parentheses, and I recall what stands under it.\n"
"""The fact that answers a prompt without a reference: such a prompt asks for the empty key."""


class MessageError(KVRaceError):
    """A message that cannot be rendered; the client's mistake."""

    exit_code = 2

    def __init__(self, *, index: int, what: str, remedy: str) -> None:
        self.index = index
        self.what = what
        self.remedy = remedy
        super().__init__(f"messages[{index}]: {what}; {remedy}")


@dataclass(frozen=True, slots=True, eq=False)
class Segment:
    """One message's tokens. tokens: [n] int32, read-only. digest: names the tokens, wherever the segment stands."""

    tokens: TokenIds
    digest: bytes


@dataclass(frozen=True, slots=True, eq=False)
class RenderedChat:
    """A prompt: the messages' segments and the opened reply `<|assistant|>`."""

    segments: tuple[Segment, ...]

    @property
    def tokens(self) -> TokenIds:
        """[n] int32, all segments end to end; a copy."""
        return np.concatenate([segment.tokens for segment in self.segments])


class SegmentCache:
    """Tokenised messages, least recently used out first. `byte_count` never exceeds `byte_count_max`."""

    def __init__(self, byte_count_max: int) -> None:
        self.byte_count_max = byte_count_max
        self.byte_count = 0
        self.hits = 0
        self.misses = 0
        self._segments: OrderedDict[tuple[int, str], Segment] = OrderedDict()

    def get(self, key: tuple[int, str]) -> Segment | None:
        segment = self._segments.get(key)
        if segment is None:
            self.misses += 1
            return None
        self.hits += 1
        self._segments.move_to_end(key)
        return segment

    def put(self, key: tuple[int, str], segment: Segment) -> None:
        self._segments[key] = segment
        self.byte_count += self._cost_bytes(key, segment)
        while self.byte_count > self.byte_count_max:
            self.byte_count -= self._cost_bytes(*self._segments.popitem(last=False))

    @staticmethod
    def _cost_bytes(key: tuple[int, str], segment: Segment) -> int:
        return getsizeof(key[1]) + segment.tokens.nbytes + 512

    def __repr__(self) -> str:
        return f"SegmentCache({len(self._segments)} segments, {self.byte_count} of {self.byte_count_max} bytes)"


class ChatTemplate:
    """Renders conversations; the same messages and tools always give the same tokens."""

    def __init__(self, tokenizer: Tokenizer, cache: SegmentCache) -> None:
        self._tokenizer = tokenizer
        self._cache = cache
        self._opened_reply = _segment([ASSISTANT])

    def render(self, messages: Sequence[Message], tools: Sequence[Mapping[str, Any]] = ()) -> RenderedChat:
        """The prompt for the reply that follows these messages.

        Effect: fills the segment cache.
        Args:
            tools: rendered into the first system segment, which is made where there is none.
        Raises: MessageError for a role, a content or a tool call that is not one.
        """
        segments = [self._segment(role, text) for role, text in _texts(messages, tools)]
        return RenderedChat((*segments, self._opened_reply))

    def raw(self, prompt: str | Sequence[int]) -> RenderedChat:
        """A prompt without roles, which the reply continues: a text, or ids. There must be at least one token."""
        ids = self._tokenizer.encode(prompt).tolist() if isinstance(prompt, str) else list(prompt)
        assert ids and min(ids) >= 0 and max(ids) < VOCABULARY_SIZE, f"no prompt, or an id of no token: {ids[:8]}"
        return RenderedChat((_segment(ids),))

    def _segment(self, role: int, text: str) -> Segment:
        found = self._cache.get((role, text))
        if found is None:
            ending = [NEWLINE, END] if role == ASSISTANT else [END]
            found = _segment([role, *self._tokenizer.encode(text).tolist(), *ending])
            self._cache.put((role, text), found)
        return found


def call_text(name: str, arguments: str) -> str:
    """A tool call as the model writes it: what a fact's body must hold to be recalled as this call."""
    return f"{name} {arguments}"


def _segment(ids: list[int]) -> Segment:
    tokens = np.array(ids, dtype=np.int32)
    tokens.setflags(write=False)
    return Segment(tokens, blake2b(tokens.tobytes(), digest_size=16).digest())


def _texts(messages: Sequence[Message], tools: Sequence[Mapping[str, Any]]) -> Iterator[tuple[int, str]]:
    roles = [_role(index, message) for index, message in enumerate(messages)]
    opens_with_system = bool(roles) and roles[0] == SYSTEM
    yield SYSTEM, _system_text(_content(0, messages[0]) if opens_with_system else "", tools)
    for index in range(1 if opens_with_system else 0, len(messages)):
        text = _content(index, messages[index])
        if roles[index] == ASSISTANT:
            parts = [text.removesuffix("\n")] if text else []
            text = "\n".join((*parts, *_calls(index, messages[index])))
        yield roles[index], text


def _system_text(content: str, tools: Sequence[Mapping[str, Any]]) -> str:
    lines = [content.removesuffix("\n")] if content else []
    if tools:
        lines.append("Tools:")
        lines += [json.dumps(tool, sort_keys=True, ensure_ascii=False) for tool in tools]
    return "\n".join((*lines, NO_REFERENCE_FACT))


def _role(index: int, message: Message) -> int:
    role = message.get("role")
    if role not in ROLES:
        raise MessageError(index=index, what=f"role {role!r} is unknown", remedy=f"use one of {', '.join(ROLES)}")
    return ROLES[role]


def _content(index: int, message: Message) -> str:
    content = message.get("content")
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if isinstance(content, Sequence):
        texts = [part.get("text") for part in content if isinstance(part, Mapping) and part.get("type") == "text"]
        if len(texts) == len(content) and all(isinstance(text, str) for text in texts):
            return "".join(map(str, texts))
    raise MessageError(
        index=index, what="content is neither text nor a list of text parts", remedy="send text; there are no images"
    )


def _calls(index: int, message: Message) -> Iterator[str]:
    for call in message.get("tool_calls") or ():
        function = call.get("function") if isinstance(call, Mapping) else None
        name, arguments = (function.get("name"), function.get("arguments")) if function else (None, None)
        if not isinstance(name, str) or not isinstance(arguments, str):
            raise MessageError(
                index=index,
                what="a tool call lacks a function name or its arguments as JSON text",
                remedy='send {"function": {"name": "...", "arguments": "{...}"}}',
            )
        yield call_text(name, arguments)
