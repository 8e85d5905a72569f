"""The built-in tools: `data/tools/*.toml` as OpenAI function tools, and the part of them that a group uses.

Owns: reading the data files, choosing tools up to a budget of tokens. Does not own: sampling (`schema_sampler`).
Floor 5. Source: our own tools, in six domains.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

import numpy as np

from harness.load.workload.calls import Call, Tool, make_call
from harness.load.workload.prose import CountTokens
from harness.load.workload.schema_sampler import Sampler
from harness.load.workload.words import DATA_DIR, Vocabulary


def load_tools(folder: Path = DATA_DIR / "tools") -> tuple[Tool, ...]:
    """All built-in tools, by domain and in the order of the files."""
    tools: list[Tool] = []
    for file in sorted(folder.glob("*.toml")):
        for entry in tomllib.loads(file.read_text(encoding="utf-8"))["tools"]:
            parameters = {
                "type": "object",
                "properties": entry["properties"],
                "required": entry["required"],
                "additionalProperties": False,
            }
            function = {"name": entry["name"], "description": entry["description"], "parameters": parameters}
            tools.append({"type": "function", "function": function})
    return tuple(tools)


def tool_tokens(tool: Tool, count_tokens: CountTokens) -> int:
    """About what the tool takes in a system message: its JSON text."""
    return count_tokens(json.dumps(tool, ensure_ascii=False))


def within_budget(tools: Iterable[Tool], count_tokens: CountTokens, budget_tokens: int) -> tuple[Tool, ...]:
    """In the given order, every tool that still fits; the first one in any case."""
    chosen: list[Tool] = []
    spent = 0
    for tool in tools:
        tokens = tool_tokens(tool, count_tokens)
        if not chosen or spent + tokens <= budget_tokens:
            chosen.append(tool)
            spent += tokens
    return tuple(chosen)


@dataclass(frozen=True, slots=True)
class BuiltinTools:
    """A `ToolSet` of built-in tools: arguments are drawn from the schemas."""

    tools: tuple[Tool, ...]
    vocabulary: Vocabulary

    def draw(self, rng: np.random.Generator, secrets: Sequence[str]) -> Call:
        function = self.tools[int(rng.integers(len(self.tools)))]["function"]
        return make_call(function["name"], Sampler(self.vocabulary, rng, secrets).object(function["parameters"]))


class BuiltinSource:
    """The `ToolSource` of the built-in tools: nothing is renamed, nothing left out."""

    def __init__(self, vocabulary: Vocabulary, count_tokens: CountTokens) -> None:
        self._vocabulary = vocabulary
        self._count_tokens = count_tokens
        self._tools = load_tools()
        self._offers = [0] * len(self._tools)

    @property
    def renames(self) -> Mapping[str, str]:
        return MappingProxyType({})

    @property
    def left_out(self) -> Mapping[str, int]:
        return MappingProxyType({})

    def tool_set(self, budget_tokens: int, rng: np.random.Generator) -> BuiltinTools:
        """Tools that earlier groups offer least come first, so that few groups together offer them all."""
        order = sorted((int(index) for index in rng.permutation(len(self._tools))), key=self._offers.__getitem__)
        tools = within_budget((self._tools[index] for index in order), self._count_tokens, budget_tokens)
        for index, tool in enumerate(self._tools):
            self._offers[index] += tool in tools
        return BuiltinTools(tools, self._vocabulary)

    def __repr__(self) -> str:
        return f"BuiltinSource(tools={len(self._tools)})"
