"""JSON as servers send it: nearly always clean, and read without loss where it is not.

Owns: the reading of one JSON text, of token counts, and the joining of text that was cut inside a character.
Does not own: what the fields of an answer mean (`reply.py`). Pure.
Floor 5. Source: facts/formats.md Q16, Q19, Q25; RFC 8259 section 8.2 (unpaired surrogates); the rest is ours.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import orjson

from harness.transport.contract import ReplyUsage
from harness.transport.errors import DETAIL_MAX


def payload(raw: bytes) -> tuple[Any, tuple[str, ...]]:
    """The value and the quirks seen on the way; None for text that is no JSON at all."""
    try:
        return orjson.loads(raw), ()
    except orjson.JSONDecodeError:
        pass
    # The strict reader refuses bytes that are no UTF-8, and escapes of half a surrogate pair. Both may be what a
    # corrupted reply looks like, so they must not be lost as "not JSON".
    quirks: tuple[str, ...] = ()
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        text, quirks = raw.decode(errors="replace"), ("invalid_utf8",)
    try:
        return json.loads(text), (*quirks, "lenient_json")
    except (ValueError, RecursionError):
        return None, quirks


def joined_text(pieces: Sequence[str]) -> str:
    """The pieces as one text that can be stored: surrogate pairs cut between pieces are joined, halves replaced."""
    text = "".join(pieces)
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def usage_of(value: object) -> ReplyUsage | None:
    """cached_tokens where OpenAI, SGLang and vLLM put it, or where DeepSeek does."""
    if not isinstance(value, dict):
        return None
    details = value.get("prompt_tokens_details")
    cached = details.get("cached_tokens") if isinstance(details, dict) else value.get("prompt_cache_hit_tokens")
    return ReplyUsage(_count(value.get("prompt_tokens")), _count(value.get("completion_tokens")), _count(cached))


def error_message(fields: object, raw: bytes) -> str:
    """What a server says about its error: in OpenAI's nested object, SGLang's flat one, or whatever came instead."""
    if isinstance(fields, dict):
        error = fields.get("error")
        if isinstance(error, dict) and isinstance(error.get("error"), dict):
            # One of SGLang's helpers puts the object into itself (Q37).
            error = error["error"]
        inner = error.get("message") if isinstance(error, dict) else error
        message = inner or fields.get("error_message") or fields.get("message") or fields.get("detail") or error
        if message:
            return message if isinstance(message, str) else json.dumps(message)
    return raw[:DETAIL_MAX].decode(errors="replace").strip()


def _count(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
