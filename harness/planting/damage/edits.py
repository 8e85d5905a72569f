"""Small changes of a turn that keep its token count in step with its text.

Owns: about how many tokens a text has. Does not own: any damage. Pure. Floor 5. Source: ours.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from results.records import ToolCall, TurnRecord

TOKEN_CHARACTERS: Final = 4


def with_call(turn: TurnRecord, name: str | None = None, arguments: str | None = None, **changes: Any) -> TurnRecord:
    """The turn with its one call changed."""
    (call,) = turn.tool_calls
    changed = ToolCall(call.id, call.name if name is None else name, call.arguments if arguments is None else arguments)
    tokens = about_tokens(turn.content, (changed.arguments,))
    return replace(turn, tool_calls=(changed,), completion_tokens=tokens, **changes)


def without_call(turn: TurnRecord, content: str, finish_reason: str | None = "stop", **changes: Any) -> TurnRecord:
    tokens = about_tokens(content, ())
    return replace(
        turn, content=content, tool_calls=(), finish_reason=finish_reason, completion_tokens=tokens, **changes
    )


def about_tokens(content: str, arguments: tuple[str, ...]) -> int:
    """About what a server would count."""
    return 1 + sum(map(len, (content, *arguments))) // TOKEN_CHARACTERS
