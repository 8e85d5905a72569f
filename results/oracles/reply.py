"""A turn's reply, read once for all oracles: how it ended, what calls it holds, whether they are the planted one.

Owns: parsing of arguments, comparison of calls, how the stream ended. Does not own: verdicts. Floor 3. Source: ours.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any

import msgspec

from results.records import ToolCall, TurnRecord


class Ending(Enum):
    """How a reply ended. Only DONE and LIMIT are replies that the model itself brought to an end."""

    DONE = auto()
    LIMIT = auto()
    """By the limit on tokens."""
    CUT = auto()
    """The stream stopped without a finish reason."""
    ERROR = auto()
    REFUSED = auto()
    """By a content filter."""


@dataclass(frozen=True, slots=True)
class ParsedCall:
    """A call with its arguments decoded; `fault` says why they are not a JSON object."""

    field: str
    name: str
    text: str
    arguments: Any
    fault: str | None


@dataclass(frozen=True, slots=True)
class Reply:
    """What the oracles look at. Built by `read_reply`.

    parts: (field, text) of everything that the model said, in order.
    content_call: a call that stands in the content in so many words, as a server's parser may leave it.
    is_planted: exactly one call, and it is the planted one.
    """

    turn: TurnRecord
    ending: Ending
    calls: tuple[ParsedCall, ...]
    content_call: ParsedCall | None
    is_planted: bool
    parts: tuple[tuple[str, str], ...]

    @property
    def is_blank(self) -> bool:
        return not self.calls and not self.turn.content.strip()

    @property
    def doubtful_parts(self) -> tuple[tuple[str, str], ...]:
        """The parts that an oracle may object to: the planted call is right, whatever it is made of."""
        return self.parts[: bool(self.turn.content)] if self.is_planted else self.parts

    @property
    def expected_text(self) -> str:
        return f"{self.turn.expected.name} {json.dumps(self.turn.expected.arguments, ensure_ascii=False)}"


_CONTENT_CALL = re.compile(r"\s*([\w.-]{1,128})\s*(\{.*\})\s*", re.DOTALL)
_FAILED = ("abort", "error")


def read_reply(turn: TurnRecord, max_tokens: int | None = None) -> Reply:
    """Read a turn's reply.

    Args:
        max_tokens: the limit on a reply's tokens; a reply that reached it counts as cut by it whatever its finish
            reason says, since some servers report `tool_calls` there.
    """
    calls = tuple(_parsed(call, f"tool_calls[{index}]") for index, call in enumerate(turn.tool_calls))
    parts = [("content", turn.content)] if turn.content else []
    for call in calls:
        parts += [(f"{call.field}.name", call.name), (f"{call.field}.arguments", call.text)]
    return Reply(
        turn=turn,
        ending=_ending(turn, max_tokens),
        calls=calls,
        content_call=_content_call(turn.content) if not calls else None,
        is_planted=len(calls) == 1 and is_planted(turn, calls[0]),
        parts=tuple(parts),
    )


def is_planted(turn: TurnRecord, call: ParsedCall) -> bool:
    expected = turn.expected
    return call.fault is None and call.name == expected.name and is_same_json(call.arguments, expected.arguments)


def is_same_json(a: Any, b: Any) -> bool:
    """Equal as JSON: keys in any order, 1 equals 1.0, but true is not 1."""
    if isinstance(a, bool) or isinstance(b, bool):
        return a is b
    if isinstance(a, dict):
        return isinstance(b, dict) and a.keys() == b.keys() and all(is_same_json(a[key], b[key]) for key in a)
    if isinstance(a, list | tuple):
        return (
            isinstance(b, list | tuple)
            and len(a) == len(b)
            and all(is_same_json(x, y) for x, y in zip(a, b, strict=True))
        )
    return bool(a == b)


def is_cut_planted(reply: Reply) -> bool:
    """Could more tokens have made this the planted call? White space aside, it is a beginning of that call."""
    expected = reply.turn.expected
    if reply.calls:
        (call, *more) = reply.calls
        begun = _squeezed(call.text)
        return not more and call.name == expected.name and any(text.startswith(begun) for text in _spellings(reply))
    begun = _squeezed(reply.turn.content)
    return any(_squeezed(expected.name + text).startswith(begun) for text in _spellings(reply))


def _spellings(reply: Reply) -> tuple[str, str]:
    arguments = reply.turn.expected.arguments
    return _squeezed(json.dumps(arguments, ensure_ascii=False)), _squeezed(json.dumps(arguments, ensure_ascii=True))


def _squeezed(text: str) -> str:
    return "".join(text.split())


def _ending(turn: TurnRecord, max_tokens: int | None) -> Ending:
    reason = turn.finish_reason
    if turn.error is not None or reason in _FAILED:
        return Ending.ERROR
    if reason is None:
        return Ending.CUT
    if reason == "content_filter":
        return Ending.REFUSED
    if reason == "length" or (max_tokens is not None and (turn.completion_tokens or 0) >= max_tokens):
        return Ending.LIMIT
    return Ending.DONE


def _parsed(call: ToolCall, field: str) -> ParsedCall:
    try:
        # Many servers send no text at all where a call has no arguments.
        arguments = msgspec.json.decode(call.arguments) if call.arguments.strip() else {}
    except (msgspec.MsgspecError, UnicodeEncodeError, RecursionError) as error:
        return ParsedCall(field, call.name, call.arguments, None, f"not JSON ({error})")
    if not isinstance(arguments, dict):
        return ParsedCall(field, call.name, call.arguments, arguments, f"JSON, but no object ({call.arguments[:40]})")
    return ParsedCall(field, call.name, call.arguments, arguments, None)


def _content_call(content: str) -> ParsedCall | None:
    if "{" not in content:
        return None
    match = _CONTENT_CALL.fullmatch(content)
    if match is None:
        return None
    call = _parsed(ToolCall("", match[1], match[2]), "content")
    return call if call.fault is None else None
