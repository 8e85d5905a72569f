"""What the tools ask: one workload, as single prompts whose right answers are known.

Owns: prompts as text and as token ids, and whether a reply is the right one. Does not own: the sessions
(`harness.load.workload`), which our own command sends as they are. A peer's own prompts ask this model for nothing that
it knows, and none of them is long enough to be evicted, so all peers are given these.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from benchmarks.peers.targets import SCENARIO
from harness.config import load_scenario
from harness.load.workload import build_workload
from kernels.engine.prompt import PromptReader

QUESTIONS = 8
"""Of some 5,700 tokens each: the device pool holds three of them."""


@dataclass(frozen=True, slots=True)
class Question:
    """text: as one message of a user. tokens: the same with the chat's own tokens around it."""

    text: str
    tokens: tuple[int, ...]
    name: str
    arguments: Mapping[str, Any]

    def is_right(self, reply: str) -> bool:
        """The planted call, however its JSON is spelled."""
        name, _, arguments = reply.strip().partition(" ")
        try:
            return name == self.name and json.loads(arguments) == self.arguments
        except json.JSONDecodeError:
            return False


def questions(seed: int, reader: PromptReader) -> tuple[Question, ...]:
    spec = load_scenario(str(SCENARIO), {"workload.sessions": str(QUESTIONS)}).workload
    workload = build_workload(spec, seed, reader.count_tokens)
    asked = []
    for plan in workload.sessions:
        text = "\n".join(message["content"] for message in plan.messages(0))
        tokens = reader.read([{"role": "user", "content": text}], ()).tokens
        expected = plan.turns[0].expected
        asked.append(Question(text, tuple(tokens.tolist()), expected.name, json.loads(expected.arguments_text)))
    return tuple(asked)
