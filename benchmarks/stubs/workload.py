"""Sessions for the stubs: long documents of their own, and a planted call in each question.

Owns: what is asked. History holds the planted answers, so that a turn's prompt does not depend on earlier replies.
Source: ours.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from results.records import ExpectedCall, SessionRecord, ToolSchema

SESSIONS = 48
TURNS = 3
DOCUMENT_CHARACTERS = 4_400

TOOL = ToolSchema(
    "store_note",
    "Stores a note.",
    {
        "type": "object",
        "properties": {"label": {"type": "string"}, "count": {"type": "integer"}},
        "required": ["label", "count"],
        "additionalProperties": False,
    },
)
_WORDS = ("harbour", "ledger", "amber", "signal", "quarry", "meadow", "copper", "violet", "anchor", "thread", "cinder")


@dataclass(frozen=True, slots=True)
class StubTurn:
    """One request: its messages and the planted call."""

    session: int
    turn: int
    messages: tuple[dict[str, Any], ...]
    expected: ExpectedCall


@dataclass(frozen=True, slots=True)
class Workload:
    """sessions[i] goes with turns[i]; a session's turns are sent one after another."""

    sessions: tuple[SessionRecord, ...]
    turns: tuple[tuple[StubTurn, ...], ...]


def workload(seed: int, sessions: int = SESSIONS, turns: int = TURNS) -> Workload:
    rng = np.random.default_rng(seed)
    records, plans = [], []
    for session in range(sessions):
        secret = f"{rng.choice(_WORDS)}-{rng.choice(_WORDS)}-{int(rng.integers(1000, 10_000))}"
        records.append(SessionRecord(session, group=0, turn_count=turns, secrets=(secret,)))
        plans.append(_turns(rng, session, secret, turns))
    return Workload(tuple(records), tuple(plans))


def _turns(rng: np.random.Generator, session: int, secret: str, turns: int) -> tuple[StubTurn, ...]:
    document = f"Session {session}. "
    while len(document) < DOCUMENT_CHARACTERS:
        document += " ".join(str(word) for word in rng.choice(_WORDS, size=12)) + ". "
    messages: list[dict[str, Any]] = [{"role": "system", "content": document}]
    planned = []
    for turn in range(turns):
        expected = ExpectedCall(TOOL.name, {"label": f"{secret} {turn}", "count": int(rng.integers(10**6))})
        asked = f'CALL {TOOL.name} {{"label": "{expected.arguments["label"]}", "count": {expected.arguments["count"]}}}'
        messages.append({"role": "user", "content": f"Question {turn}. Answer with this call: {asked}"})
        planned.append(StubTurn(session, turn, tuple(messages), expected))
        messages.append({"role": "assistant", "content": f"Stored as number {int(rng.integers(1000))}."})
    return tuple(planned)
