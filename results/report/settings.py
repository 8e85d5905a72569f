"""The configuration of a run or of several arms as rows: what differs, and what all have in common.

Owns: flattening and the spelling of values. Floor 3. Source: ours.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import orjson

from results.report.parts import SettingRow

_IDENTITY = frozenset({"name", "summary", "expect"})
"""What a scenario says of itself; two arms always differ in it."""
_ABSENT = "(not set)"


def flat(configuration: Mapping[str, object], prefix: str = "") -> dict[str, str]:
    """`section.key` -> value as JSON text."""
    rows: dict[str, str] = {}
    for key, value in configuration.items():
        if isinstance(value, Mapping) and value:
            rows |= flat(value, f"{prefix}{key}.")
        else:
            rows[prefix + key] = _spelled(value)
    return rows


def compared(configurations: Sequence[Mapping[str, object]]) -> tuple[tuple[SettingRow, ...], tuple[SettingRow, ...]]:
    """Rows in which the arms differ, one value an arm; and rows in which all agree, one value."""
    columns = [flat(configuration) for configuration in configurations]
    keys = [key for key in dict.fromkeys(key for column in columns for key in column) if key not in _IDENTITY]
    rows = {key: tuple(column.get(key, _ABSENT) for column in columns) for key in keys}
    differing = tuple(SettingRow(key, values) for key, values in rows.items() if len(set(values)) > 1)
    common = tuple(SettingRow(key, values[:1]) for key, values in rows.items() if len(set(values)) == 1)
    return differing, common


def _spelled(value: object) -> str:
    return value if isinstance(value, str) else orjson.dumps(value, default=str).decode()
