"""The raw text of a stream, read once more and plainly: what the server sent, whatever our client made of it.

Owns: content, reasoning and calls as they stand in a stored stream or body, each simply joined. It shares nothing with
the client on purpose: a difference between the two readings is our client's fault, and can be told.
Does not own: quirks of streams; the client has the rules for those. Floor 3. Source: the SSE standard, OpenAI's chunks.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import msgspec

from results.records import TurnRecord


@dataclass(frozen=True, slots=True)
class RawReply:
    """calls: all names and all arguments, joined in the order in which they came."""

    content: str
    reasoning: str
    calls: str

    @property
    def text(self) -> str:
        return f"{self.reasoning}\n{self.content}\n{self.calls}"


def read_raw_reply(raw: str) -> RawReply | None:
    """None where the raw text holds no answer at all (an error, a stump), or none that can be read."""
    content: list[str] = []
    reasoning: list[str] = []
    calls: list[str] = []
    seen = False
    for choice in choices_of(raw):
        said = choice.get("delta") or choice.get("message")
        if not isinstance(said, dict):
            continue
        seen = True
        content.append(_text(said.get("content")))
        reasoning.append(_text(said.get("reasoning_content")) or _text(said.get("reasoning")))
        try:
            calls += _call_texts(said.get("tool_calls"))
        except RecursionError:
            # Arguments that were sent as an object, nested so deep that they cannot be written as text.
            return None
    return RawReply(_whole("".join(content)), _whole("".join(reasoning)), _whole("".join(calls))) if seen else None


def choices_of(raw: str) -> Iterator[dict[str, Any]]:
    """The first choice of every chunk, or of the body."""
    for payload in _payloads(raw):
        wrapped = payload.get("data")
        choices = payload.get("choices") or (wrapped.get("choices") if isinstance(wrapped, dict) else None)
        for choice in choices if isinstance(choices, list) else ():
            if isinstance(choice, dict) and choice.get("index") in (0, None):
                yield choice


def is_faithful(turn: TurnRecord, raw: RawReply) -> bool:
    """Did our client keep what came? Characters are counted, not ordered: parallel calls may come interleaved."""
    # Formats differ in how often a name is repeated, so names do not count; nor do spaces of re-encoded objects.
    kept = "".join(call.arguments for call in turn.tool_calls)
    kept_names = {call.name for call in turn.tool_calls}
    came = raw.calls
    for name in kept_names:
        came = came.replace(name, "")
        kept = kept.replace(name, "")
    return turn.content == raw.content and Counter("".join(kept.split())) == Counter("".join(came.split()))


def _payloads(raw: str) -> Iterator[dict[str, Any]]:
    """Every JSON object of the text: the lines of each event joined, or the one body."""
    data: list[str] = []
    for line in [*raw.replace("\r\n", "\n").replace("\r", "\n").split("\n"), ""]:
        if line.startswith("data:"):
            data.append(line[5:])
        elif not line and data:
            yield from _object("\n".join(data))
            data = []
    if not raw.lstrip().startswith(("data:", ":", "event:", "id:")):
        yield from _object(raw)


def _object(text: str) -> Iterator[dict[str, Any]]:
    try:
        value = msgspec.json.decode(text)
    except (msgspec.MsgspecError, UnicodeEncodeError, RecursionError):
        # The strict reader refuses half a surrogate pair, which a corrupted reply may hold.
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            return
    if isinstance(value, dict):
        yield value


def _call_texts(entries: object) -> Iterator[str]:
    for entry in entries if isinstance(entries, list) else ():
        function = entry.get("function") if isinstance(entry, dict) else None
        if isinstance(function, dict):
            arguments = function.get("arguments")
            yield _text(function.get("name"))
            yield arguments if isinstance(arguments, str) else json.dumps(arguments) if arguments else ""


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _whole(text: str) -> str:
    """Halves of surrogate pairs joined, as a client joins them."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
