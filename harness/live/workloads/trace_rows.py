"""Rows of request traces: Mooncake's, its extended and agentic forms, and Bailian's, in one shape.

Owns: the fields of each form, their aliases and units. Does not own: which rows follow each other (`trace_chains.py`),
what is sent (`mooncake.py`). Floor 5. Source: facts/formats.md section 1; the field lists are those of Mooncake's
FAST'25 release, of Dynamo's data generator (PRs 8998 and 9728) and of AIPerf's pages on trace replay.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from harness.live.workloads.blocks import BlockId
from harness.live.workloads.entries import Entry, kind_of

BAILIAN: Final = "chat_id"
"""The field that tells Bailian's rows."""
_ALIASES: Final[Mapping[str, tuple[str, ...]]] = {
    "input_length": ("input_length", "input_tokens"),
    "output_length": ("output_length", "output_tokens"),
    "timestamp": ("timestamp", "created_time"),
    "delay": ("delay", "delay_ms"),
}
KNOWN: Final = frozenset(alias for names in _ALIASES.values() for alias in names) | {
    "hash_ids", "session_id", "messages", "tools", "extra", "message_mode", "request_id", "wait_for", "branches",
    "tool_wait_ms", "prefix_reset", BAILIAN, "parent_chat_id", "turn", "type",
}  # fmt: skip
NO_PARENT: Final = "-1"


@dataclass(frozen=True, slots=True)
class RowHead:
    """When a row is due, and after which others. offset: of its line in the file.

    id, session: None where it has none. waits_for: ids of rows; `follows_session` adds the one before in its session.
    at_ns: None where the trace does not say. delay_ns: after what it waits for; None: by the trace's own times.
    """

    line: int
    offset: int
    id: str | None
    session: str | None
    waits_for: tuple[str, ...]
    branches: tuple[str, ...]
    follows_session: bool
    at_ns: int | None
    delay_ns: int | None


@dataclass(frozen=True, slots=True)
class RowBody:
    """What a row sends. messages: None where text is to be made of its blocks.

    is_whole: its context is all there; None where only the row before can tell.
    """

    input_tokens: int
    output_tokens: int | None
    blocks: tuple[BlockId, ...]
    messages: list[Any] | None
    tools: list[Any]
    extra: Mapping[str, Any]
    is_whole: bool | None


def read_head(entry: Entry, offset: int) -> RowHead:
    """Raises: ConfigError for a field of another type."""
    if BAILIAN in entry.fields:
        return _bailian_head(entry, offset)
    request, delay = _text(entry, "request_id"), _number(entry, "delay")
    tool_wait = entry.optional("tool_wait_ms", float)
    if tool_wait is not None or request is not None:
        delay = (delay or 0.0) + (tool_wait or 0.0)
    return RowHead(
        line=entry.line, offset=offset, id=request, session=_text(entry, "session_id"),
        waits_for=_names(entry, "wait_for"), branches=_names(entry, "branches"), follows_session=request is None,
        at_ns=_time_ns(entry, _number(entry, "timestamp"), 1e6), delay_ns=_time_ns(entry, delay, 1e6),
    )  # fmt: skip


def _bailian_head(entry: Entry, offset: int) -> RowHead:
    """Times are seconds. A chat's parent is the turn before it."""
    parent = _text(entry, "parent_chat_id")
    return RowHead(
        line=entry.line, offset=offset, id=_text(entry, BAILIAN), session=None,
        waits_for=() if parent in (None, NO_PARENT) else (parent,), branches=(), follows_session=False,
        at_ns=_time_ns(entry, _number(entry, "timestamp"), 1e9), delay_ns=None,
    )  # fmt: skip


def read_body(entry: Entry, block_tokens: int) -> RowBody:
    """Raises: ConfigError for a field that is missing or of another type, and for ids that cannot be of this size."""
    messages = entry.optional("messages", list)
    output = _length(entry, "output_length")
    if messages is not None:
        return RowBody(0, output, (), messages, entry.optional("tools", list) or [], _extra(entry), True)
    tokens = _length(entry, "input_length")
    if not tokens:
        raise entry.refuse("field 'input_length' is missing, and there are no 'messages'")
    blocks = _blocks(entry)
    if (len(blocks) - 1) * block_tokens >= tokens:
        largest = (tokens - 1) // (len(blocks) - 1)
        what = f"{len(blocks)} hash ids for {tokens:,} tokens cannot be blocks of {block_tokens}"
        raise entry.refuse(f"{what}; give --block-tokens, here at most {largest}")
    is_whole = True if "request_id" in entry.fields or BAILIAN in entry.fields else None
    return RowBody(tokens, output, blocks, None, [], _extra(entry), is_whole)


def _extra(entry: Entry) -> Mapping[str, Any]:
    extra: Mapping[str, Any] = entry.optional("extra", dict) or {}
    entry.refuse_unsendable("field 'extra'", extra)
    return extra


def is_usable(entry: Entry, left_out: Counter[str]) -> bool:
    """Effect: counts unknown fields, and rows that cannot be replayed."""
    entry.count_unknown(KNOWN, left_out)
    if entry.fields.get("message_mode") == "delta":
        left_out["rows whose messages need the server's own replies (message_mode 'delta')"] += 1
        return False
    return True


def _blocks(entry: Entry) -> tuple[BlockId, ...]:
    """Ids are numbers, or hexadecimal text where an operator has hashed prefixes himself."""
    values = entry.optional("hash_ids", list) or []
    for value in values:
        if type(value) is not int and type(value) is not str:
            raise entry.refuse(f"field 'hash_ids' holds {kind_of(value)}, not whole numbers or texts")
    return tuple(str(value) if isinstance(value, int) and value < 0 else value for value in values)


def _length(entry: Entry, name: str) -> int | None:
    value = next((entry.optional(alias, int) for alias in _ALIASES[name] if alias in entry.fields), None)
    if value is not None and value < 0:
        raise entry.refuse(f"field '{name}' is {value}, less than 0")
    return None if value is None else int(value)


def _number(entry: Entry, name: str) -> float | None:
    value = next((entry.optional(alias, float) for alias in _ALIASES[name] if alias in entry.fields), None)
    return None if value is None else float(value)


def _time_ns(entry: Entry, value: float | None, unit_ns: float) -> int | None:
    if value is None:
        return None
    if not 0 <= value * unit_ns < 1 << 62:
        raise entry.refuse(f"a time of {value:g} is none that can be waited for")
    return round(value * unit_ns)


def _text(entry: Entry, name: str) -> str | None:
    value = entry.fields.get(name)
    if value is not None and (isinstance(value, bool) or not isinstance(value, str | int)):
        raise entry.refuse(f"field '{name}' is {kind_of(value)}, not a name")
    return None if value is None else str(value)


def _names(entry: Entry, name: str) -> tuple[str, ...]:
    values = entry.optional(name, list) or []
    if not all(isinstance(value, str | int) and not isinstance(value, bool) for value in values):
        raise entry.refuse(f"field '{name}' is no list of request ids")
    return tuple(map(str, values))
