"""The `ToolSource` of a BFCL folder: every usable call under the function doc that it belongs to.

Owns: joining questions, docs and answers; dropping, with a count, what cannot be used. Does not own: the formats
(`files`, `schemas`, `answers`). Floor 5.

Each call of an answer is taken by itself, because each of our turns asks for one. The calls are the leaderboard's,
to the letter, so they hold none of the session's secret words.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import jsonschema_rs
import numpy as np

from harness.load.workload.bfcl import answers
from harness.load.workload.bfcl.files import (
    CLASS_DOCS,
    MULTI_TURN,
    Row,
    answer_file,
    by_id,
    doc_file,
    present_categories,
    question_file,
    read_rows,
)
from harness.load.workload.bfcl.schemas import Function, read_function, wire_name
from harness.load.workload.calls import Call, Tool, make_call
from harness.load.workload.catalog import within_budget
from harness.load.workload.grammar import has_marks
from harness.load.workload.prose import CountTokens
from kernels.errors import ConfigError

Sighting = tuple[Function, answers.Arguments]


@dataclass(frozen=True, slots=True)
class BfclTools:
    """A `ToolSet`: some of the functions, and all usable calls of them. Secrets are not used."""

    tools: tuple[Tool, ...]
    calls: tuple[Call, ...]

    def draw(self, rng: np.random.Generator, secrets: Sequence[str]) -> Call:
        return self.calls[int(rng.integers(len(self.calls)))]


class BfclSource:
    """Reads the whole folder when it is made. Raises: ConfigError with file and line where it is malformed."""

    def __init__(self, folder: Path, count_tokens: CountTokens) -> None:
        self._count_tokens = count_tokens
        self._left_out: Counter[str] = Counter()
        self._bfcl_names: dict[str, str] = {}
        self._tools: list[Tool] = []
        self._calls: list[list[Call]] = []
        self._collect(folder)
        if not self._tools:
            raise ConfigError("this BFCL folder has no usable call", key="workload.source", file=folder)

    @property
    def renames(self) -> Mapping[str, str]:
        changed = {wire: name for wire, name in self._bfcl_names.items() if wire != name}
        return MappingProxyType(changed)

    @property
    def left_out(self) -> Mapping[str, int]:
        return MappingProxyType(dict(self._left_out))

    def tool_set(self, budget_tokens: int, rng: np.random.Generator) -> BfclTools:
        # Two rows may describe one name differently; a request can offer only one of them.
        offered: dict[str, int] = {}
        for index in self._order(rng):
            offered.setdefault(self._tools[index]["function"]["name"], index)
        candidates = (self._tools[index] for index in offered.values())
        tools = within_budget(candidates, self._count_tokens, budget_tokens)
        calls = [call for tool in tools for call in self._calls[offered[tool["function"]["name"]]]]
        return BfclTools(tools, tuple(calls))

    def _order(self, rng: np.random.Generator) -> list[int]:
        """Random, and the earlier the more calls a function has: most have a single one, which soon repeats.

        Source: Efraimidis and Spirakis, "Weighted random sampling with a reservoir" (2006), the keys u**(1/weight).
        """
        weights = np.array([len(calls) for calls in self._calls], dtype=np.float64)
        keys = rng.random(len(weights)) ** (1.0 / weights)
        return [int(index) for index in np.argsort(-keys, kind="stable")]

    def _collect(self, folder: Path) -> None:
        known: dict[str, int] = {}
        for category in present_categories(folder):
            for function, arguments in sightings(folder, category):
                if not _is_valid(function.parameters, arguments):
                    self._left_out["arguments do not fit the schema"] += 1
                    continue
                wire = wire_name(function.name, self._bfcl_names)
                described = {"name": wire, "description": function.description, "parameters": function.parameters}
                tool: Tool = {"type": "function", "function": described}
                call = make_call(wire, arguments)
                if has_marks(call.body) or has_marks(json.dumps(tool, ensure_ascii=False)):
                    self._left_out["brackets that our grammar uses"] += 1
                    continue
                self._bfcl_names[wire] = function.name
                if function.text not in known:
                    known[function.text] = len(self._tools)
                    self._tools.append(tool)
                    self._calls.append([])
                calls = self._calls[known[function.text]]
                if all(call.body != other.body for other in calls):
                    calls.append(call)

    def __repr__(self) -> str:
        return f"BfclSource(tools={len(self._tools)}, calls={sum(map(len, self._calls))})"


def sightings(folder: Path, category: str) -> Iterator[Sighting]:
    """Every call of a category's answers, with the doc of its function.

    Raises: ConfigError with the answer's place if its question or function does not exist.
    """
    questions = by_id(read_rows(question_file(folder, category)))
    docs: dict[str, dict[str, Function]] = {}
    for name, answer in by_id(read_rows(answer_file(folder, category))).items():
        if name not in questions:
            raise answer.refuse(f"no question has the id '{name}'")
        question = questions[name]
        if category in MULTI_TURN:
            functions: dict[str, Function] = {}
            for involved in question.field("involved_classes", list):
                if involved not in docs:
                    docs[involved] = _class_functions(folder, question, involved)
                functions |= docs[involved]
            for node in answers.written_calls(answer):
                function = _lookup(answer, functions, node.func.id)  # type: ignore[attr-defined]
                yield function, answers.written_arguments(answer, function, node)
        else:
            functions = _by_name(question, question.field("function", list))
            for called, parameters in answers.listed_calls(answer):
                function = _lookup(answer, functions, called)
                yield function, answers.first_allowed(answer, function, parameters)


def _class_functions(folder: Path, question: Row, involved: object) -> dict[str, Function]:
    if involved not in CLASS_DOCS:
        raise question.refuse(f"unknown class '{involved}'")
    rows = read_rows(doc_file(folder, CLASS_DOCS[str(involved)]))
    return {function.name: function for function in (read_function(row, row.content) for row in rows)}


def _by_name(row: Row, entries: list[Any]) -> dict[str, Function]:
    return {function.name: function for function in (read_function(row, entry) for entry in entries)}


def _lookup(row: Row, functions: Mapping[str, Function], name: str) -> Function:
    if name not in functions:
        raise row.refuse(f"the answer calls '{name}', which its question does not describe")
    return functions[name]


def _is_valid(schema: Mapping[str, Any], arguments: answers.Arguments) -> bool:
    """Whether the arguments fit; an argument that is not described does not. A schema that is none fits nothing."""
    try:
        return set(arguments) <= set(schema.get("properties", {})) and jsonschema_rs.is_valid(dict(schema), arguments)
    except jsonschema_rs.ValidationError:
        return False
