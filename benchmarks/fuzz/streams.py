"""Valid replies made out of any bytes: what a fuzzer finds here is a reply that was read wrongly.

Owns: turning bytes into a reply and into a valid stream of either shape that says it, in many spellings. Does not own:
reading. Source: facts/formats.md section 3; the streams are ours.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

_TEXTS = (
    "",
    "Hi",
    " déjà",
    "\U0001f4e6",
    "a\nb",
    '"}',
    "[DONE]",
    "data: x",
    "\u2028",
    "的",
    "<think>",
    "\\",
    "\x7f",
    "0",
)
_NEWLINES = ("\n", "\r\n", "\r")
_FILLERS = (": ping\n\n", ":\n\n", "data:\n\n", "id: 7\nretry: 10\n\n", "event: x\n\n", "data: : ping\n\n")
_NAMES = ("f", "book_table", "search.web")


@dataclass
class Said:
    """What a stream says, piece by piece. calls: (id, name, arguments) by index."""

    content: str = ""
    reasoning: str = ""
    calls: list[list[str]] = field(default_factory=list)


class Source:
    """Numbers out of bytes; zeros when they are used up."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    @property
    def is_over(self) -> bool:
        return self._at >= len(self._data)

    def below(self, bound: int) -> int:
        byte = self._data[self._at] if self._at < len(self._data) else 0
        self._at += 1
        return byte % bound


def openai_stream(source: Source) -> tuple[str, Said]:
    """A stream of chunks as the OpenAI API has them, with the variations that public servers show."""
    said = Said()
    newline, style = _NEWLINES[source.below(3)], source.below(8)
    lines = [_chunk({"role": "assistant", "content": None if style & 1 else ""}, style)]
    while not source.is_over:
        what = source.below(6)
        if what == 0:
            lines.append(_FILLERS[source.below(len(_FILLERS))])
        elif what == 1:
            lines += _new_call(source, said, style)
        elif what == 2 and said.calls:
            index = source.below(len(said.calls))
            piece = _TEXTS[source.below(len(_TEXTS))]
            said.calls[index][2] += piece
            lines.append(_chunk({"tool_calls": [_more(index, piece, style)]}, style))
        elif what == 3:
            text = _TEXTS[source.below(len(_TEXTS))]
            said.reasoning += text
            lines.append(_chunk({"reasoning_content" if style & 2 else "reasoning": text}, style))
        else:
            text = _TEXTS[source.below(len(_TEXTS))]
            said.content += text
            lines.append(_chunk({"content": text}, style))
    lines.append(_chunk({}, style, reason="tool_calls" if said.calls else "stop"))
    if style & 4:
        lines.append(_event({"choices": [], "usage": {"prompt_tokens": 1, "completion_tokens": 2}}))
    lines.append("data: [DONE]\n\n")
    return "".join(lines).replace("\n", newline), said


def _new_call(source: Source, said: Said, style: int) -> Iterator[str]:
    index, name = len(said.calls), _NAMES[source.below(len(_NAMES))]
    said.calls.append([f"call_{index}", name, ""])
    entry = {"index": index, "id": f"call_{index}", "type": "function", "function": {"name": name, "arguments": ""}}
    yield _chunk({"tool_calls": [entry]}, style)


def _more(index: int, piece: str, style: int) -> dict[str, Any]:
    if style & 1:
        return {"index": index, "id": None, "function": {"name": None, "arguments": piece}}
    return {"index": index, "function": {"arguments": piece}}


def _chunk(delta: dict[str, Any], style: int, reason: str | None = None) -> str:
    nulls = {"role": None, "content": None, "tool_calls": None} if style & 1 else {}
    choice = {"index": 0, "delta": {**nulls, **delta}, "finish_reason": reason}
    return _event({"id": "x", "object": "chat.completion.chunk", "choices": [choice]}, space="" if style & 2 else " ")


def _event(fields: dict[str, Any], *, space: str = " ") -> str:
    return f"data:{space}{json.dumps(fields, ensure_ascii=False)}\n\n"


def anthropic_stream(source: Source) -> tuple[str, Said]:
    """Named events: blocks of text, thinking and calls, one after another."""
    said = Said()
    newline = _NEWLINES[source.below(3)]
    lines = [_named("message_start", message={"content": [], "usage": {"input_tokens": 3}})]
    block = 0
    while not source.is_over:
        kind = ("text", "thinking", "tool_use")[source.below(3)]
        opened: dict[str, Any] = {"type": kind}
        if kind == "tool_use":
            name = _NAMES[source.below(len(_NAMES))]
            opened |= {"id": f"t{block}", "name": name, "input": {}}
            said.calls.append([f"t{block}", name, ""])
        lines.append(_named("content_block_start", index=block, content_block=opened))
        for _ in range(source.below(4)):
            lines.append(_named("content_block_delta", index=block, delta=_delta(kind, source, said)))
            if source.below(5) == 0:
                lines.append(_named("ping"))
        lines.append(_named("content_block_stop", index=block))
        block += 1
    reason = "tool_use" if said.calls else "end_turn"
    lines += [
        _named("message_delta", delta={"stop_reason": reason}, usage={"output_tokens": 9}),
        _named("message_stop"),
    ]
    return "".join(lines).replace("\n", newline), said


def _delta(kind: str, source: Source, said: Said) -> dict[str, Any]:
    piece = _TEXTS[source.below(len(_TEXTS))]
    if kind == "text":
        said.content += piece
        return {"type": "text_delta", "text": piece}
    if kind == "thinking":
        said.reasoning += piece
        return {"type": "thinking_delta", "thinking": piece}
    said.calls[-1][2] += piece
    return {"type": "input_json_delta", "partial_json": piece}


def _named(kind: str, **fields: Any) -> str:
    return f"event: {kind}\n{_event({'type': kind, **fields})}"
