"""BFCL's ground truth as single calls: the first allowed value of each parameter, or a call written in Python.

Owns: reading both kinds of answer. Does not own: whether a call fits its schema (`source`). Floor 5.
"""

from __future__ import annotations

import ast
import json
import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from harness.load.workload.bfcl.files import Row
from harness.load.workload.bfcl.schemas import Function

Arguments = dict[str, Any]


def listed_calls(row: Row) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Single-turn rows: (function, parameter -> list of allowed values), one for each call of the answer."""
    for entry in row.field("ground_truth", list):
        if not isinstance(entry, dict) or len(entry) != 1:
            raise row.refuse("an answer must be an object with one function")
        name, parameters = next(iter(entry.items()))
        if not isinstance(parameters, dict):
            raise row.refuse(f"the answer for '{name}' has no parameters")
        yield name, parameters


def first_allowed(row: Row, function: Function, parameters: Mapping[str, Any]) -> Arguments:
    """The first allowed value of each parameter. An empty text among the allowed ones stands for "left out"."""
    required = function.parameters.get("required", ())
    arguments: Arguments = {}
    for name, allowed in parameters.items():
        if not isinstance(allowed, list) or not allowed:
            raise row.refuse(f"'{name}' of '{function.name}' must have a list of allowed values")
        chosen = allowed[0]
        if chosen == "":
            if name not in required:
                continue
            chosen = next((value for value in allowed if value != ""), "")
        arguments[name] = _plain(chosen)
    return _as_json(row, function, arguments)


def _plain(value: Any) -> Any:
    """Inside an object every property has its own list of allowed values; an empty text leaves it out."""
    if isinstance(value, dict):
        chosen = {key: inner[0] if isinstance(inner, list) and inner else inner for key, inner in value.items()}
        return {key: _plain(inner) for key, inner in chosen.items() if inner != ""}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return value


def written_calls(row: Row) -> Iterator[ast.Call]:
    """Multi-turn rows: every call of every turn, parsed. Raises: ConfigError if one is not a plain call."""
    for turn in row.field("ground_truth", list):
        for text in turn if isinstance(turn, list) else [turn]:
            try:
                node = _parsed(str(text))
            except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
                raise row.refuse(f"'{str(text)[:60]}' is not a call") from error
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
                raise row.refuse(f"'{str(text)[:60]}' is not a call")
            yield node


def _parsed(text: str) -> ast.expr:
    with warnings.catch_warnings():
        # A backslash that means nothing (`'\\d+'`) is kept as it stands, and is nobody's business here.
        warnings.simplefilter("ignore", SyntaxWarning)
        warnings.simplefilter("ignore", DeprecationWarning)
        return ast.parse(text, mode="eval").body


def written_arguments(row: Row, function: Function, node: ast.Call) -> Arguments:
    """Positional values take the names of the schema's properties, in their order."""
    names: Sequence[str] = list(function.parameters.get("properties", {}))
    if len(node.args) > len(names):
        raise row.refuse(f"a call of '{function.name}' has {len(node.args)} values for {len(names)} parameters")
    pairs = list(zip(names, node.args, strict=False))
    pairs += [(keyword.arg or "**", keyword.value) for keyword in node.keywords]
    try:
        arguments = {name: ast.literal_eval(value) for name, value in pairs}
    except (ValueError, TypeError) as error:
        raise row.refuse(f"a call of '{function.name}' has a value that is not a literal") from error
    return _as_json(row, function, arguments)


def _as_json(row: Row, function: Function, arguments: Arguments) -> Arguments:
    """The arguments as they come back from JSON text: a tuple is a list there, and not every value exists."""
    try:
        plain: Arguments = json.loads(json.dumps(arguments, allow_nan=False))
    except (ValueError, TypeError) as error:
        raise row.refuse(f"a call of '{function.name}' has a value that JSON has not") from error
    return plain
