"""Captured requests of an application: one body each, with all of its tools and its whole history.

Owns: the shapes in which people keep such requests, with or without the answer. Does not own: messages (`messages.py`).
Floor 5. Source: facts/formats.md section 2: real agents send 40 tools and more, and 90 to 600 messages.

Each entry is a session of one turn. A capture whose requests belong together is `recorded:DIR`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from harness.live.workloads.entries import Entry, read_entries
from harness.live.workloads.messages import SENT, answer_of, checked_messages, checked_tools, sent_fields
from harness.live.workloads.scripted import Answer, ScriptedSession, ScriptedTurn, tools_tokens, written

_WRAPPERS: Final = ("request", "body")
_ANSWERS: Final = ("response", "answer", "reply", "completion")
_EXPECTED_ANSWER: Final = "an OpenAI reply, an assistant's message or its text"
NO_QUESTION: Final = "requests without any message that asks"


@dataclass(frozen=True, slots=True)
class OpenAiMessagesSource:
    """left_out: counts, while the file is read, what is not used of it."""

    file: Path
    left_out: Counter[str]

    def sessions(self) -> Iterator[ScriptedSession]:
        for number, entry in enumerate(read_entries(self.file)):
            session = self._session(number, entry)
            if session is not None:
                yield session

    def _session(self, number: int, entry: Entry) -> ScriptedSession | None:
        answer = _recorded(entry)
        for wrapper in _WRAPPERS:
            inner = entry.optional(wrapper, dict)
            if inner is not None:
                entry = replace(entry, fields=inner)
                break
        entry.count_unknown((*SENT, *_ANSWERS, "model"), self.left_out)
        messages = checked_messages(entry, entry.field("messages", list))
        # Sets for training end in the answer.
        while messages and messages[-1]["role"] == "assistant":
            answer = answer_of(messages.pop())
        if all(message["role"] in ("system", "developer") for message in messages):
            self.left_out[NO_QUESTION] += 1
            return None
        tools = checked_tools(entry, entry.optional("tools", list) or ())
        extra, limit = sent_fields(entry)
        turn = ScriptedTurn(written(messages), max_tokens=limit, extra=extra, recorded=answer)
        return ScriptedSession(number, (turn,), tools=tools, opening_tokens=tools_tokens(tools))


def _recorded(entry: Entry) -> Answer | None:
    """The answer that an entry holds beside its request. Raises: ConfigError for one of no known shape."""
    value = next((entry.fields[name] for name in _ANSWERS if entry.fields.get(name) is not None), None)
    if value is None:
        return None
    if isinstance(value, str):
        return Answer(value)
    message = _message_of(value) if isinstance(value, dict) else None
    if message is None:
        raise entry.refuse(f"the recorded answer is not {_EXPECTED_ANSWER}")
    (checked,) = checked_messages(entry, [{"role": "assistant", **message}])
    return answer_of(checked)


def _message_of(value: Mapping[str, Any]) -> Mapping[str, Any] | None:
    message: object = value
    choices = value.get("choices")
    if isinstance(choices, list):
        first = choices[0] if choices else None
        message = first.get("message") if isinstance(first, dict) else None
    return message if isinstance(message, dict) and message.keys() & {"content", "tool_calls"} else None
