"""The tool-call parser of the simulated model: `tool_name {json}` becomes a call, anything else is content.

Owns: when text is known to be a call, or known not to be. Does not own: the validity of the arguments, which are
passed on as they come (a corrupted reply must reach the client as it is), or the frames of an API.
Floor 5. Source: ours; SGLang's detectors stream in the same order (name first, then pieces of the arguments).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class ContentPiece:
    text: str


@dataclass(frozen=True, slots=True)
class CallName:
    name: str


@dataclass(frozen=True, slots=True)
class CallArguments:
    text: str


Piece = ContentPiece | CallName | CallArguments


class CallParser:
    """Fed text in any pieces; tells each piece apart as soon as it can be told.

    With n tool names, a piece costs O(log n) while undecided and nothing afterwards.
    """

    def __init__(self, tool_names: Iterable[str]) -> None:
        self._names = sorted({name for name in tool_names if name and " " not in name})
        self._state: Literal["undecided", "content", "call"] = "undecided"
        self._pending = ""

    def __repr__(self) -> str:
        return f"CallParser({self._state}, pending={self._pending!r}, names={len(self._names)})"

    @property
    def is_call(self) -> bool:
        return self._state == "call"

    def feed(self, text: str) -> list[Piece]:
        if not text:
            return []
        if self._state == "content":
            return [ContentPiece(text)]
        if self._state == "call":
            return [CallArguments(text)]
        self._pending += text
        head, space, rest = self._pending.partition(" ")
        if not space:
            return [] if self._could_become_name(head) else self._decide_content()
        if not self._is_name(head):
            return self._decide_content()
        self._state = "call"
        self._pending = ""
        return [CallName(head), CallArguments(rest)] if rest else [CallName(head)]

    def close(self) -> list[Piece]:
        """The reply is over: a name that no space follows was no call."""
        return self._decide_content() if self._pending else []

    def _decide_content(self) -> list[Piece]:
        text, self._pending = self._pending, ""
        self._state = "content"
        return [ContentPiece(text)]

    def _is_name(self, text: str) -> bool:
        at = bisect_left(self._names, text)
        return at < len(self._names) and self._names[at] == text

    def _could_become_name(self, text: str) -> bool:
        # In sorted order, the names that begin with `text` start at the first one that is not below it.
        at = bisect_left(self._names, text)
        return at < len(self._names) and self._names[at].startswith(text)
