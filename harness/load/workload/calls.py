"""A call and where calls come from: the seam between the planner and a set of tools.

Owns: the call's exact text, `ToolSet`, drawing calls that fit. Does not own: the tools (`catalog`, `bfcl`).
Floor 5.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from harness.load.workload.grammar import has_marks
from harness.load.workload.prose import CountTokens
from kernels.errors import ConfigError
from results.records import ExpectedCall

Tool = Mapping[str, Any]
"""One entry of an OpenAI tool list: {"type": "function", "function": {name, description, parameters}}."""

TRIES = 64
"""Draws before a repeated call is accepted (a small set of tools runs out of different ones)."""


@dataclass(frozen=True, slots=True)
class Call:
    """arguments_text is the JSON text that the reply must hold, character by character."""

    name: str
    arguments: Mapping[str, Any]
    arguments_text: str

    @property
    def body(self) -> str:
        return f"{self.name} {self.arguments_text}"

    def record(self) -> ExpectedCall:
        """The call as the results keep it."""
        return ExpectedCall(self.name, dict(self.arguments))


def make_call(name: str, arguments: Mapping[str, Any]) -> Call:
    return Call(name, arguments, json.dumps(arguments, ensure_ascii=False))


class ToolSet(Protocol):
    """The tools of one group of sessions, and calls of them."""

    @property
    def tools(self) -> tuple[Tool, ...]: ...

    def draw(self, rng: np.random.Generator, secrets: Sequence[str]) -> Call:
        """A call that its tool's schema allows; some of its texts hold one of the secrets where tools permit."""


class ToolSource(Protocol):
    """Where the tools of all groups come from. renames, left_out: as in `Workload`, complete after the last group."""

    @property
    def renames(self) -> Mapping[str, str]: ...

    @property
    def left_out(self) -> Mapping[str, int]: ...

    def tool_set(self, budget_tokens: int, rng: np.random.Generator) -> ToolSet:
        """The tools of one group: as many as fit into the budget, one at least."""


class CallDrawer:
    """Draws calls that fit into a reply and hold no grammar marks, different ones as long as there are any."""

    def __init__(self, tool_set: ToolSet, count_tokens: CountTokens, tokens_max: int) -> None:
        self._tool_set = tool_set
        self._count_tokens = count_tokens
        self._tokens_max = tokens_max
        self._tokens: dict[str, int] = {}

    def draw(self, rng: np.random.Generator, secrets: Sequence[str], count: int, taken: set[str]) -> list[Call]:
        """Effect: adds the bodies to `taken`, the bodies that the session has already.

        Raises: ConfigError if no call is short enough.
        """
        return [self._draw_one(rng, secrets, taken) for _ in range(count)]

    def _draw_one(self, rng: np.random.Generator, secrets: Sequence[str], taken: set[str]) -> Call:
        repeated: Call | None = None
        shortest: int | None = None
        for _ in range(TRIES):
            call = self._tool_set.draw(rng, secrets)
            if has_marks(call.body):
                continue
            tokens = self._length(call.body)
            shortest = tokens if shortest is None else min(shortest, tokens)
            if tokens > self._tokens_max:
                continue
            if call.body not in taken:
                taken.add(call.body)
                return call
            repeated = call
        if repeated is None:
            seen = f"; the shortest of {TRIES} has {shortest}" if shortest is not None else ""
            what = f"no call of this workload's tools fits into workload.call_tokens_max = {self._tokens_max}{seen}"
            raise ConfigError(what, key="workload.call_tokens_max", value=self._tokens_max)
        return repeated

    def _length(self, body: str) -> int:
        # A small set of tools gives the same calls again and again; counting is the slow part.
        if body not in self._tokens:
            self._tokens[body] = self._count_tokens(body)
        return self._tokens[body]

    def __repr__(self) -> str:
        return f"CallDrawer(tools={len(self._tool_set.tools)}, tokens_max={self._tokens_max})"
