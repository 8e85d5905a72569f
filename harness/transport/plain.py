"""The commonest event of a stream, read in one typed step: one choice with one piece of content and nothing else.

Owns: recognising it, and nothing of what it means. An event that has anything more, or anything odd, is not plain and
is left to `reply.py`, so nothing can be lost here. Pure. Floor 5. Source: facts/loadgen.md section 3 (a typed decode
costs a third of an untyped one).
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec


class _Delta(msgspec.Struct, frozen=True):
    content: str
    role: str | None = None
    reasoning_content: None = None
    reasoning: None = None
    tool_calls: None = None


class _Choice(msgspec.Struct, frozen=True):
    delta: _Delta
    index: Literal[0] = 0
    finish_reason: None = None
    message: None = None


class _Chunk(msgspec.Struct, frozen=True):
    choices: tuple[_Choice]
    usage: None = None
    error: None = None
    error_message: None = None
    kvrace: dict[str, Any] | None = None


class Plain(msgspec.Struct, frozen=True):
    """A piece of content, never empty. kvrace: our own servers' extension, as it is."""

    text: str
    kvrace: dict[str, Any] | None


_CHUNKS = msgspec.json.Decoder(_Chunk)


def plain_text(data: bytes) -> Plain | None:
    """None where the event is anything else than one piece of content."""
    try:
        chunk = _CHUNKS.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    text = chunk.choices[0].delta.content
    return Plain(text, chunk.kvrace) if text else None
