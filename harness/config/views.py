"""A scenario as plain data: nested for the manifest, flat for tables, and the difference of two.

Owns: the views. Does not own: where they are written. Floor 5.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from harness.config.schema import Scenario


def to_dict(scenario: Scenario) -> dict[str, Any]:
    """Nested plain data (dicts, lists, numbers, text), ready for JSON."""
    plain: dict[str, Any] = msgspec.to_builtins(scenario)
    return plain


def flat_view(scenario: Scenario) -> dict[str, Any]:
    """`section.key` -> value, in the order of the schema; `delays.POINT` last."""
    flat: dict[str, Any] = {}
    for name, value in to_dict(scenario).items():
        if isinstance(value, Mapping):
            flat.update({f"{name}.{key}": inner for key, inner in value.items()})
        else:
            flat[name] = value
    return flat


def diff(left: Scenario, right: Scenario) -> dict[str, tuple[Any, Any]]:
    """The keys whose values differ, each with both values; None where one side has no such key.

    `name`, `summary` and `expect` say what a scenario is for, not what it does, and are left out.
    """
    a, b = flat_view(left), flat_view(right)
    keys = [key for key in dict.fromkeys((*a, *b)) if "." in key]
    return {key: (a.get(key), b.get(key)) for key in keys if a.get(key) != b.get(key)}
