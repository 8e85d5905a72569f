"""Messages as files hold them: checked, and cut into the turns of a session.

Owns: what a message must look like to be sent, and which message begins a turn. Does not own: any file's own shape.
Floor 5. Source: facts/formats.md sections 1 and 2; the OpenAI chat API.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from harness.live.workloads.entries import Entry, kind_of
from harness.live.workloads.scripted import Answer, ScriptedTurn, written
from harness.load.workload.calls import Tool
from harness.load.workload.plan import Message

ROLES: Final = ("system", "developer", "user", "assistant", "tool", "function")
_OPENING: Final = ("system", "developer")
EMPTY_ANSWERS: Final = "questions whose recorded answer is empty"
BEFORE_FIRST: Final = "messages in front of a conversation's first question"
_MAX_TOKENS: Final = ("max_tokens", "max_completion_tokens")
_KEPT: Final = ("tool_choice", "parallel_tool_calls", "response_format", "chat_template_kwargs", "reasoning_effort")
"""What of a request shapes its prompt or the form of its answer. Sampling is ours: temperature 0."""
SENT: Final = frozenset({"messages", "tools", *_MAX_TOKENS, *_KEPT})


def checked_messages(entry: Entry, values: Iterable[Any]) -> list[Message]:
    """Raises: ConfigError with the entry's place for what no server could take."""
    messages = []
    for at, value in enumerate(values):
        if not isinstance(value, dict) or value.get("role") not in ROLES:
            role = value.get("role") if isinstance(value, dict) else value
            raise entry.refuse(f"messages[{at}]: the role must be one of {', '.join(ROLES)}, not {str(role)[:40]!r}")
        content, calls = value.get("content"), value.get("tool_calls")
        parts = content if isinstance(content, list) else []
        if not isinstance(content, str | list | None) or not all(isinstance(part, dict) for part in parts):
            raise entry.refuse(f"messages[{at}]: content must be text, a list of parts or null, not {kind_of(content)}")
        if calls is not None and not (isinstance(calls, list) and all(map(_is_call, calls))):
            raise entry.refuse(f"messages[{at}]: tool_calls must be a list of objects with a function")
        entry.refuse_unsendable(f"messages[{at}]", value)
        messages.append(value)
    return messages


def checked_tools(entry: Entry, values: Iterable[Any]) -> tuple[Tool, ...]:
    """Raises: ConfigError with the entry's place."""
    tools = tuple(values)
    for at, tool in enumerate(tools):
        function = tool.get("function") if isinstance(tool, dict) else None
        is_function = isinstance(function, dict) and isinstance(function.get("name"), str)
        if not isinstance(tool, dict) or (tool.get("type", "function") == "function" and not is_function):
            raise entry.refuse(f"tools[{at}] must be an object with 'function.name'")
        entry.refuse_unsendable(f"tools[{at}]", tool)
    return tools


def sent_fields(entry: Entry) -> tuple[dict[str, Any], int | None]:
    """The fields of a recorded request that are sent again, and its limit on tokens. Raises: ConfigError."""
    extra = {name: entry.fields[name] for name in _KEPT if entry.fields.get(name) is not None}
    for name, value in extra.items():
        entry.refuse_unsendable(f"field '{name}'", value)
    limits = [limit for name in _MAX_TOKENS if (limit := entry.optional(name, int)) is not None and limit > 0]
    return extra, min(limits, default=None)


def answer_of(message: Mapping[str, Any]) -> Answer:
    """What an assistant's message says."""
    content = message.get("content")
    parts = content if isinstance(content, list) else ()
    text = content if isinstance(content, str) else "".join(str(part.get("text") or "") for part in parts)
    functions = [call["function"] for call in message.get("tool_calls") or ()]
    return Answer(text, tuple((str(one.get("name")), str(one.get("arguments"))) for one in functions))


def conversation(
    messages: Sequence[Message], left_out: Counter[str]
) -> tuple[tuple[Message, ...], tuple[ScriptedTurn, ...]]:
    """The opening, and one turn for each answer and for a last question without one; the history has the answers.

    Effect: counts what no request can be made of: answers in front of any question, and questions that were answered
    with nothing (no server need take an empty message).
    """
    begin = next((at for at, message in enumerate(messages) if message["role"] not in _OPENING), len(messages))
    opening, rest = tuple(messages[:begin]), list(messages[begin:])
    first = next((at for at, message in enumerate(rest) if message["role"] == "user"), len(rest))
    if first:
        left_out[BEFORE_FIRST] += first
    turns: list[ScriptedTurn] = []
    said: list[Message] = []
    asked: list[Message] = []
    for message in rest[first:]:
        if message["role"] != "assistant":
            asked.append(message)
        elif not _says_something(message):
            left_out[EMPTY_ANSWERS] += 1
            asked = []
        elif asked:
            turns.append(ScriptedTurn(written([*said, *asked]), recorded=answer_of(message)))
            said, asked = [message], []
        else:
            # The answer goes on in a message of its own.
            said.append(message)
    if asked:
        turns.append(ScriptedTurn(written([*said, *asked])))
    return opening, tuple(turns)


def _says_something(message: Message) -> bool:
    answer = answer_of(message)
    return bool(answer.content.strip() or answer.calls)


def _is_call(call: object) -> bool:
    return isinstance(call, dict) and isinstance(call.get("function"), dict)
