# ruff: noqa: RUF001 - the bars of DeepSeek's tokens are what this file is about.
"""Planted calls: tools of our own with arguments of every kind, and BFCL's possible answers rendered as calls.

Owns: the pool from which a batch takes its calls, and the ways in which servers spell one. BFCL is read from where the
caller says, and is optional. Source: our tools; Berkeley Function-Calling Leaderboard v4 (Apache-2.0) for the others.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jsonschema_rs
import numpy as np

from benchmarks.corpus.prose import any_paragraph
from benchmarks.corpus.structured import STRUCTURED
from harness.load.workload.bfcl.files import present_categories
from harness.load.workload.bfcl.source import sightings
from results.records import ExpectedCall, ToolSchema

_TEXT = {"type": "string"}
_WHOLE = {"type": "integer"}
_NUMBER = {"type": "number"}
_FLAG = {"type": "boolean"}


def _tool(name: str, properties: dict[str, Any], required: Sequence[str]) -> ToolSchema:
    parameters = {"type": "object", "properties": properties, "required": list(required), "additionalProperties": False}
    return ToolSchema(name, f"Runs {name}.", parameters)


OWN_TOOLS = (
    _tool("write_file", {"path": _TEXT, "text": _TEXT, "append": _FLAG}, ("path", "text")),
    _tool("run_shell", {"command": _TEXT, "timeout_s": _NUMBER, "label": _TEXT}, ("command", "label")),
    _tool("search.web", {"query": _TEXT, "limit": _WHOLE, "sites": {"type": "array", "items": _TEXT}}, ("query",)),
    _tool("book-table", {"restaurant": _TEXT, "guests": _WHOLE, "outdoors": _FLAG, "note": _TEXT}, ("restaurant",)),
    _tool("update_record", {"id": _WHOLE, "fields": {"type": "object"}, "reason": _TEXT}, ("id", "fields")),
    _tool("send_message", {"to": {"type": "array", "items": _TEXT}, "body": _TEXT, "urgent": _FLAG}, ("to", "body")),
    _tool("set_position", {"latitude": _NUMBER, "longitude": _NUMBER, "tag": _TEXT}, ("latitude", "longitude")),
)


@dataclass(frozen=True, slots=True)
class PoolCall:
    """A planted call and the tool that it calls."""

    tool: ToolSchema
    expected: ExpectedCall


def own_call(rng: np.random.Generator, secrets: Sequence[str]) -> PoolCall:
    """A call of one of our tools. Its texts hold the session's secret words, and now and then whole documents."""
    tool = OWN_TOOLS[int(rng.integers(len(OWN_TOOLS)))]
    properties: dict[str, Any] = tool.parameters["properties"]
    required = tool.parameters["required"]
    names = [name for name in properties if name in required or rng.random() < 0.7]
    arguments = {str(name): _value(rng, properties[name]["type"], secrets) for name in rng.permutation(names)}
    return PoolCall(tool, ExpectedCall(tool.name, arguments))


def _value(rng: np.random.Generator, kind: str, secrets: Sequence[str]) -> Any:
    if kind == "integer":
        return int(rng.integers(-5, 10**6))
    if kind == "number":
        return round(float(rng.normal()) * 100, int(rng.integers(0, 8)))
    if kind == "boolean":
        return bool(rng.integers(2))
    if kind == "array":
        return [_text(rng, secrets) for _ in range(int(rng.integers(0, 4)))]
    if kind == "object":
        values: list[Any] = [None, True, 0, 1.5, "", [], _text(rng, secrets), {"größe": [1, 2]}]
        return {f"key {n}": values[int(rng.integers(len(values)))] for n in range(int(rng.integers(1, 4)))}
    return _text(rng, secrets)


def _text(rng: np.random.Generator, secrets: Sequence[str]) -> str:
    if rng.random() < 0.2:
        return str(STRUCTURED[str(rng.choice(list(STRUCTURED)))](rng))
    _, line = any_paragraph(rng, 2)
    secret = str(rng.choice(list(secrets)))
    return f"{secret} {line}" if rng.random() < 0.5 else f"{line} ({secret})"


def bfcl_calls(folder: Path) -> tuple[PoolCall, ...]:
    """Every possible answer that fits its own function doc, as a planted call.

    Raises: ConfigError where the folder is no BFCL folder.
    """
    calls: dict[str, PoolCall] = {}
    for category in present_categories(folder):
        for function, arguments in sightings(folder, category):
            name = function.name.replace(".", "_")
            tool = ToolSchema(name, function.description, dict(function.parameters))
            if _fits(tool, arguments):
                text = json.dumps([function.text, arguments], sort_keys=True)
                calls[text] = PoolCall(tool, ExpectedCall(name, arguments))
    return tuple(calls.values())


def _fits(tool: ToolSchema, arguments: dict[str, Any]) -> bool:
    try:
        return bool(jsonschema_rs.validator_for(tool.parameters).is_valid(arguments))
    except ValueError:
        return False


def spelled(rng: np.random.Generator, expected: ExpectedCall) -> str:
    """The arguments as some server writes them: keys in any order, any white space, escapes or none."""
    keys = [str(key) for key in rng.permutation(list(expected.arguments))] if expected.arguments else []
    if not keys and rng.random() < 0.3:
        return ""
    separators = [(",", ":"), (", ", ": "), (" ,\n  ", " : ")][int(rng.integers(3))]
    arguments = {key: expected.arguments[key] for key in keys}
    return json.dumps(arguments, ensure_ascii=bool(rng.integers(2)), separators=separators)


def as_text(rng: np.random.Generator, expected: ExpectedCall) -> tuple[str, str]:
    """(family, the call in that model family's own markup), as a server without a tool parser shows it."""
    arguments = json.dumps(expected.arguments, ensure_ascii=False)
    whole = json.dumps({"name": expected.name, "arguments": expected.arguments}, ensure_ascii=False)
    spellings = (
        ("bare", f"{expected.name} {arguments}"),
        ("Hermes", f"<tool_call>\n{whole}\n</tool_call>"),
        ("Llama function", f"<function={expected.name}>{arguments}</function>"),
        ("Llama python tag", "<|python_tag|>" + whole.replace('"arguments"', '"parameters"', 1)),
        ("Mistral", f"[TOOL_CALLS] [{whole}]"),
        (
            "DeepSeek",
            f"<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>{expected.name}\n```json\n{arguments}\n"
            "```<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
        ),
        (
            "Kimi",
            f"<|tool_calls_section_begin|><|tool_call_begin|>functions.{expected.name}:0<|tool_call_argument_begin|>"
            f"{arguments}<|tool_call_end|><|tool_calls_section_end|>",
        ),
    )
    return spellings[int(rng.integers(len(spellings)))]
