"""One reply of the corpus, with what is true of it.

Owns: the shape of a case, and batches of cases that one judge's context covers, as a run's turns are. Does not own:
any text (`prose`, `structured`), call (`calls`) or damage (`harness/planting/damage`, `damage_shown`). Nothing in these
folders imports an oracle, so that an oracle's blind spot cannot hide in its own corpus. Source: ours.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from harness.planting.damage.edits import about_tokens
from results.findings import Kind
from results.records import ExpectedCall, SessionRecord, ToolCall, ToolSchema, TurnRecord


@dataclass(frozen=True, slots=True)
class Case:
    """truth: the kind that was planted; None for a sound reply. family, strength: how it was made, in words."""

    turn: TurnRecord
    truth: Kind | None
    family: str
    strength: str = ""


@dataclass(frozen=True, slots=True)
class Batch:
    """Cases of one imagined run: its tools and its sessions, whose secrets are known."""

    tools: tuple[ToolSchema, ...]
    sessions: tuple[SessionRecord, ...]
    cases: tuple[Case, ...]


def sound_turn(
    session: SessionRecord, number: int, expected: ExpectedCall, *, content: str = "", arguments: str | None = None
) -> TurnRecord:
    """A whole reply: some text and the planted call, spelled as given."""
    text = json.dumps(expected.arguments, ensure_ascii=False) if arguments is None else arguments
    return TurnRecord(
        session=session.session,
        turn=number,
        request_id=f"s{session.session:04d}-t{number:03d}",
        group=session.group,
        scheduled_ns=number * 1_000_000,
        sent_ns=number * 1_000_000,
        first_token_ns=number * 1_000_000 + 300_000,
        finished_ns=number * 1_000_000 + 900_000,
        prompt_tokens=2_048,
        completion_tokens=about_tokens(content, (text,)),
        cached_tokens=1_024,
        finish_reason="tool_calls",
        content=content,
        tool_calls=(ToolCall(f"call_{number}", expected.name, text),),
        expected=expected,
        secrets=session.secrets,
        error=None,
        raw=None,
        machine=None,
    )


def streamed(turn: TurnRecord) -> TurnRecord:
    """The turn with the raw text of a stream that says the same, in a few chunks."""
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}]
    half = len(turn.content) // 2
    deltas += [{"content": piece} for piece in (turn.content[:half], turn.content[half:]) if piece]
    for index, call in enumerate(turn.tool_calls):
        function = {"name": call.name, "arguments": ""}
        deltas.append({"tool_calls": [{"index": index, "id": call.id, "type": "function", "function": function}]})
        middle = len(call.arguments) // 2
        for piece in (call.arguments[:middle], call.arguments[middle:]):
            deltas.append({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})
    lines = [_chunk({"index": 0, "delta": delta, "finish_reason": None}) for delta in deltas]
    if turn.finish_reason is not None:
        lines += [_chunk({"index": 0, "delta": {}, "finish_reason": turn.finish_reason}), "data: [DONE]\n\n"]
    return replace(turn, raw="".join(lines))


def _chunk(choice: dict[str, Any]) -> str:
    return f"data: {json.dumps({'object': 'chat.completion.chunk', 'choices': [choice]})}\n\n"


def counted(cases: Sequence[Case]) -> dict[str, int]:
    """How many cases of each family."""
    families: dict[str, int] = {}
    for case in cases:
        families[case.family] = families.get(case.family, 0) + 1
    return families
