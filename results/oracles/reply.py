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

from results.oracles.beginnings import is_beginning
from results.oracles.same_json import is_same_json
from results.oracles.text_call import TextCall, planted_in
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

    text_call, is_planted: nothing and False where nobody knows the right answer.
    parts: (field, text) of everything that the model said, in order, but for its reasoning.
    content_call: a call that is all of the content, in so many words, as a server's parser may leave it.
    text_call: where the content spells the planted call, in any markup and behind any text.
    is_planted: exactly one call, and it is the planted one.
    """

    turn: TurnRecord
    ending: Ending
    calls: tuple[ParsedCall, ...]
    content_call: ParsedCall | None
    text_call: TextCall | None
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
    def heard_parts(self) -> tuple[tuple[str, str], ...]:
        """The doubtful parts, and the reasoning: for what no text may hold, wherever it stands."""
        reasoning = self.turn.reasoning
        return (*self.doubtful_parts, ("reasoning", reasoning)) if reasoning else self.doubtful_parts

    @property
    def expected_text(self) -> str:
        """The planted call or word; nothing where nobody knows the right answer."""
        expected = self.turn.expected
        if expected is None:
            return self.turn.expected_word or ""
        return f"{expected.name} {json.dumps(expected.arguments, ensure_ascii=False)}"


_CONTENT_CALL = re.compile(r"\s*([\w.-]{1,128})\s*(\{.*\})\s*", re.DOTALL)
_FAILED = ("abort", "error")


def read_reply(turn: TurnRecord, max_tokens: int | None = None) -> Reply:
    """Read a turn's reply.

    Args:
        max_tokens: the run's limit on a reply's tokens, where the turn has none of its own; a reply that reached it
            counts as cut by it whatever its finish reason says, since some servers report `tool_calls` there.
    """
    calls = tuple(_parsed(call, f"tool_calls[{index}]") for index, call in enumerate(turn.tool_calls))
    parts = [("content", turn.content)] if turn.content else []
    for call in calls:
        parts += [(f"{call.field}.name", call.name), (f"{call.field}.arguments", call.text)]
    return Reply(
        turn=turn,
        ending=_ending(turn, max_tokens if turn.max_tokens is None else turn.max_tokens),
        calls=calls,
        content_call=_content_call(turn.content) if not calls else None,
        text_call=planted_in(turn.content, turn.expected) if not calls and turn.expected is not None else None,
        is_planted=len(calls) == 1 and is_planted(turn, calls[0]),
        parts=tuple(parts),
    )


def is_planted(turn: TurnRecord, call: ParsedCall) -> bool:
    expected = turn.expected
    if expected is None or call.fault is not None or call.name != expected.name:
        return False
    return is_same_json(call.arguments, expected.arguments)


def is_cut_planted(reply: Reply) -> bool:
    """Could more tokens have made this the planted call, however it is spelled?"""
    expected = reply.turn.expected
    if expected is None:
        return False
    if reply.calls:
        (call, *more) = reply.calls
        return not more and call.name == expected.name and is_beginning(call.text, expected.arguments)
    text = reply.turn.content.lstrip()
    if text.startswith(expected.name):
        return is_beginning(text.removeprefix(expected.name), expected.arguments)
    return expected.name.startswith(text)


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
        arguments = _decoded(call.arguments)
    except (msgspec.MsgspecError, UnicodeEncodeError, RecursionError) as error:
        return ParsedCall(field, call.name, call.arguments, None, f"not JSON ({error})")
    if not isinstance(arguments, dict):
        return ParsedCall(field, call.name, call.arguments, arguments, f"JSON, but no object ({call.arguments[:40]})")
    return ParsedCall(field, call.name, call.arguments, arguments, None)


def _decoded(text: str) -> Any:
    """What the arguments say, in the spellings of sound servers too. What they say is still held against the planted
    call, so no damage passes by being read kindly."""
    # Many servers send no text at all where a call has no arguments, or null.
    if text.strip() in ("", "null"):
        return {}
    try:
        arguments = msgspec.json.decode(text)
    except (msgspec.MsgspecError, UnicodeEncodeError, RecursionError) as error:
        # Models write line breaks into strings as they are, and lenient servers let them pass.
        if "\n" not in text and "\t" not in text:
            raise
        try:
            return json.loads(text, strict=False)
        except ValueError:
            raise error from None
    # Some servers encode the arguments twice.
    return msgspec.json.decode(arguments) if isinstance(arguments, str) and arguments[:1] == "{" else arguments


def _content_call(content: str) -> ParsedCall | None:
    if "{" not in content:
        return None
    match = _CONTENT_CALL.fullmatch(content)
    if match is None:
        return None
    call = _parsed(ToolCall("", match[1], match[2]), "content")
    return call if call.fault is None else None
