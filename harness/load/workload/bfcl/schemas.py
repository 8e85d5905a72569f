"""BFCL's parameter descriptions as JSON Schema, and its function names as names that servers accept.

Owns: the translation. Does not own: calls (`answers`). Floor 5.
Source: facts/formats.md section 2: types `dict`, `float`, `tuple`, `any`; names with dots, which servers refuse.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from harness.load.workload.bfcl.files import Row
from harness.load.workload.grammar import without_marks

# None: any value is allowed, so the schema says nothing about the type.
JSON_TYPES: Mapping[str, str | None] = MappingProxyType(
    {
        "dict": "object",
        "object": "object",
        "float": "number",
        "number": "number",
        "integer": "integer",
        "tuple": "array",
        "array": "array",
        "string": "string",
        "boolean": "boolean",
        "null": "null",
        "any": None,
    }
)

NAME_LENGTH_MAX = 64
_REFUSED = re.compile(r"[^A-Za-z0-9_-]")


@dataclass(frozen=True, slots=True)
class Function:
    """One function doc. name: as BFCL has it. parameters: JSON Schema. text: the JSON text that tells docs apart."""

    name: str
    description: str
    parameters: Mapping[str, Any]
    text: str


def read_function(row: Row, entry: object) -> Function:
    """Raises: ConfigError with the row's place if the entry is not a function doc."""
    if not isinstance(entry, dict) or not isinstance(entry.get("name"), str):
        raise row.refuse("a function has no name")
    name = entry["name"]
    parameters = entry.get("parameters")
    if not isinstance(parameters, dict):
        raise row.refuse(f"function '{name}' has no parameters")
    schema = json_schema(row, parameters, name)
    description = without_marks(str(entry.get("description", "")))
    return Function(name, description, schema, json.dumps([name, description, schema], sort_keys=True))


def json_schema(row: Row, described: Mapping[str, Any], name: str) -> dict[str, Any]:
    """The same description as JSON Schema, at every depth."""
    schema: dict[str, Any] = {}
    for key, value in described.items():
        if key == "type":
            if not isinstance(value, str) or value not in JSON_TYPES:
                raise row.refuse(f"function '{name}' has a parameter of unknown type '{value}'")
            if (translated := JSON_TYPES[value]) is not None:
                schema["type"] = translated
        elif key == "properties":
            if not isinstance(value, dict) or not all(isinstance(inner, dict) for inner in value.values()):
                raise row.refuse(f"function '{name}' has properties that are not objects")
            schema["properties"] = {inner: json_schema(row, value[inner], name) for inner in value}
        elif key in ("items", "additionalProperties") and isinstance(value, dict):
            schema[key] = json_schema(row, value, name)
        elif key == "required":
            if not isinstance(value, list) or not all(isinstance(inner, str) for inner in value):
                raise row.refuse(f"function '{name}' has a `required` that is not a list of names")
            schema[key] = value
        elif key == "optional" or key.startswith("$"):
            # `optional` is not JSON Schema: what `required` leaves out is optional. A `$ref` would make the
            # validator fetch a foreign address.
            continue
        else:
            schema[key] = without_marks(value)
    return schema


def wire_name(name: str, taken: Mapping[str, str]) -> str:
    """A name that servers accept. taken: wire name -> BFCL's name, of the names given out so far."""
    base = _REFUSED.sub("_", name)[:NAME_LENGTH_MAX]
    candidate, number = base, 2
    while taken.get(candidate, name) != name:
        suffix = f"_{number}"
        candidate = base[: NAME_LENGTH_MAX - len(suffix)] + suffix
        number += 1
    return candidate
