"""Streamed tool calls put together again, from every way in which servers cut them up.

Owns: which delta belongs to which call. Does not own: whether the result is a right call. Pure.
Floor 5. Source: facts/formats.md Q1 to Q10; the rules are ours.

The rules, in order:
- an index names its call (Q7), unless the delta brings an id that differs from the call's and a name (Q4, Q6), or a
  second name after arguments have begun: those start a new call;
- without an index (Q5) the id names it; without both, the position in a list of several, else the last call, unless
  its name cannot continue that call.
Null and empty never reset anything (Q2, Q3). A name may come in pieces, or after the arguments (Q8).
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

import orjson

from harness.transport.payload import joined_text
from results.records import ToolCall


@dataclass(slots=True)
class _Call:
    """number: counts the calls of one reply."""

    index: int | None
    number: int = 0
    id: str = ""
    name: str = ""
    arguments: list[str] = field(default_factory=list)

    def takes_name(self, name: str) -> bool:
        """Whether a delta with this name can belong here: a repeat, a piece, or the first name seen."""
        return not name or not self.name or name == self.name or not self.arguments

    def is_whole(self) -> bool:
        if not self.arguments[-1:] or not self.arguments[-1].rstrip().endswith("}"):
            # What ends otherwise need not be read, and may be long.
            return False
        try:
            orjson.loads("".join(self.arguments))
        except orjson.JSONDecodeError:
            return False
        return True


@dataclass(frozen=True, slots=True)
class _Delta:
    """One entry of a `tool_calls` list, with every absent, null or odd value turned into nothing."""

    index: int | None
    id: str
    name: str
    arguments: str

    @classmethod
    def of(cls, entry: dict[str, Any]) -> _Delta:
        function = entry.get("function")
        if not isinstance(function, dict):
            function = {}
        index = entry.get("index")
        return cls(
            index=index if isinstance(index, int) and not isinstance(index, bool) else None,
            id=_text(entry.get("id")),
            name=_text(function.get("name")),
            arguments=_arguments(function.get("arguments")),
        )


class CallMerger:
    """Fed the `tool_calls` list of each delta; `calls()` is what they amount to so far."""

    def __init__(self) -> None:
        self._calls: list[_Call] = []
        # The latest call of each index and id: a stream may hold very many of them.
        self._by_index: dict[int, _Call] = {}
        self._by_id: dict[str, _Call] = {}

    def __repr__(self) -> str:
        return f"CallMerger({[(call.index, call.id, call.name) for call in self._calls]})"

    def add(self, entries: object) -> None:
        """Anything that is not a list of objects, or one object, is ignored."""
        if isinstance(entries, dict):
            entries = [entries]
        if not isinstance(entries, list):
            return
        for position, entry in enumerate(entries):
            if isinstance(entry, dict):
                self._add_one(entry, position if len(entries) > 1 else None)

    def add_whole(self, entries: object) -> None:
        """The `tool_calls` of an answer that was not streamed: each entry is a call of its own."""
        for entry in entries if isinstance(entries, list) else [entries]:
            if isinstance(entry, dict):
                self._extend(self._begin(None), _Delta.of(entry))

    def calls(self) -> tuple[ToolCall, ...]:
        return tuple(
            ToolCall(joined_text([call.id]), joined_text([call.name]), joined_text(call.arguments))
            for call in self._calls
        )

    def _add_one(self, entry: dict[str, Any], position: int | None) -> None:
        delta = _Delta.of(entry)
        self._extend(self._call_for(delta, position) or self._begin(delta.index), delta)

    def _begin(self, index: int | None) -> _Call:
        call = _Call(index, number=len(self._calls))
        self._calls.append(call)
        if index is not None:
            self._by_index[index] = call
        return call

    def _extend(self, call: _Call, delta: _Delta) -> None:
        if delta.id and not call.id:
            call.id = delta.id
            known = self._by_id.get(call.id)
            if known is None or known.number < call.number:
                self._by_id[call.id] = call
        if delta.name != call.name:
            call.name += delta.name
        if delta.arguments:
            call.arguments.append(delta.arguments)

    def _call_for(self, delta: _Delta, position: int | None) -> _Call | None:
        if delta.index is not None:
            call = self._by_index.get(delta.index)
            return None if call is None or _starts_anew(call, delta) else call
        if delta.id:
            known = self._by_id.get(delta.id)
            if known is not None:
                return known
        elif position is not None and position >= len(self._calls):
            return None
        elif position is not None and self._calls[position].takes_name(delta.name):
            return self._calls[position]
        call = self._calls[-1] if self._calls else None
        return None if call is None or _starts_anew(call, delta) else call


def _starts_anew(call: _Call, delta: _Delta) -> bool:
    if not delta.name:
        return False
    if delta.id and call.id:
        return delta.id != call.id
    if not call.takes_name(delta.name):
        return True
    # The same name again, without ids: a repeat on every delta, or a second call of the same tool? Only a call
    # whose arguments are whole can be followed by another `{`.
    return delta.name == call.name and delta.arguments.startswith("{") and call.is_whole()


def _text(value: object) -> str:
    """Names and ids are strings; some servers number their ids (Q4)."""
    if isinstance(value, str):
        return value
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else ""


def _arguments(value: object) -> str:
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    # An object instead of its text (Q10).
    try:
        return orjson.dumps(value).decode()
    except TypeError:
        # Half a surrogate pair, a number of more than 64 bits, or hundreds of brackets inside each other.
        return _odd_arguments(value)


def _odd_arguments(value: object) -> str:
    try:
        return json.dumps(value, separators=(",", ":"))
    except RecursionError:
        return ""
