"""Cost models from TOML files, and overrides by dotted key.

Owns: reading, validation and the error texts. Does not own: the records and their arithmetic (`cost.py`). Floor 1.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import fields, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, get_args, get_type_hints

from kernels.errors import ConfigError
from kernels.substrate.cost import CostModel, Curve, Quantity, Status

DEFAULT_COST_FILE = Path(__file__).parent / "data" / "h200_pcie5.toml"

_STATUSES: Mapping[str, Status] = MappingProxyType({"measured": "measured", "fitted": "fitted", "assumed": "assumed"})
_QUANTITY_KEYS = ("value", "unit", "source", "status", "low", "high")
_CURVE_KEYS = ("points", "unit", "source", "status")


def load_cost_model(path: Path = DEFAULT_COST_FILE) -> CostModel:
    """Read a cost file. Raises: ConfigError that names the file, the key and what is allowed there."""
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ConfigError("no such cost file", key="cost", value=str(path), file=path) from None
    except tomllib.TOMLDecodeError as problem:
        raise ConfigError(f"not valid TOML: {problem}", file=path) from problem
    hints = get_type_hints(CostModel)
    sections = [entry.name for entry in fields(CostModel)[1:]]
    _refuse_unknown(table, ["name", *sections], "", path)
    name = table.get("name")
    if not isinstance(name, str):
        raise ConfigError("'name' must be a string", key="name", value=name, file=path)
    return CostModel(name, *(_section(hints[section], section, table.get(section), path) for section in sections))


def with_override(
    model: CostModel, key: str, value: object, *, file: Path | None = None, line: int | None = None
) -> CostModel:
    """The model with one number replaced; a number given for a curve makes it flat.

    file, line: where the user wrote it, for the error text. Raises: ConfigError.
    """
    keys = [name for name, _ in model.leaves()]
    if key not in keys:
        raise ConfigError(f"unknown cost key '{key}'", key=key, allowed=keys, file=file, line=line)
    try:
        number = float(value)  # type: ignore[arg-type]  # the point is to find out
    except (TypeError, ValueError):
        number = math.nan
    section_name, _, leaf_name = key.partition(".")
    section = getattr(model, section_name)
    old = getattr(section, leaf_name)
    may_be_zero = (isinstance(old, Quantity) and old.unit in ("us", "us/token")) or section_name == "jitter"
    if not math.isfinite(number) or number < 0.0 or (number == 0.0 and not may_be_zero):
        wanted = "0 or a positive number" if may_be_zero else "a positive number"
        raise ConfigError(f"cost '{key}' must be {wanted}, got {value!r}", key=key, value=value, file=file, line=line)
    new: Quantity | Curve
    if isinstance(old, Curve):
        new = replace(old, points=((old.points[0][0], number),), status="override", source="set by the user")
    else:
        new = replace(old, value=number, status="override", source="set by the user")
    changed: CostModel = replace(model, **{section_name: replace(section, **{leaf_name: new})})
    return changed


def _section(kind: type, name: str, table: object, path: Path) -> Any:
    if not isinstance(table, Mapping):
        raise ConfigError(f"section [{name}] is missing", key=name, file=path)
    hints = get_type_hints(kind, include_extras=True)
    _refuse_unknown(table, list(hints), f"{name}.", path)
    return kind(**dict(_leaves(hints, name, table, path)))


def _leaves(
    hints: Mapping[str, Any], name: str, table: Mapping[str, Any], path: Path
) -> Iterator[tuple[str, Quantity | Curve]]:
    for entry, hint in hints.items():
        key = f"{name}.{entry}"
        given = table.get(entry)
        if not isinstance(given, Mapping):
            raise ConfigError(f"[{key}] is missing or is no table", key=key, file=path)
        leaf_kind, unit = get_args(hint)
        is_curve = leaf_kind is Curve
        _refuse_unknown(given, _CURVE_KEYS if is_curve else _QUANTITY_KEYS, f"{key}.", path)
        status = _STATUSES.get(str(given.get("status")))
        if status is None:
            raise ConfigError(
                f"[{key}] has no valid status", key=key, value=given.get("status"), allowed=tuple(_STATUSES), file=path
            )
        if given.get("unit") != unit:
            raise ConfigError(
                f"[{key}] is in {given.get('unit')!r}", key=key, value=given.get("unit"), allowed=(unit,), file=path
            )
        source = str(given.get("source", "")).strip()
        if not source:
            raise ConfigError(f"[{key}] does not say where it comes from (source)", key=key, file=path)
        if is_curve:
            yield entry, Curve(_points(given.get("points"), key, path), unit, status, source)
        else:
            low, high = _number(given.get("low", 0.0), key, path), _number(given.get("high", math.inf), key, path)
            value = _number(given.get("value"), key, path)
            bounds = (low if "low" in given else None, high if "high" in given else None)
            leaf = Quantity(value, unit, status, source, *bounds)
            if not leaf.is_in_range:
                raise ConfigError(f"[{key}] value {value:g} is outside its own range", key=key, value=value, file=path)
            yield entry, leaf


def _number(value: object, key: str, path: Path) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or math.isnan(value) or value < 0:
        raise ConfigError(f"[{key}] needs numbers of 0 or more, got {value!r}", key=key, value=value, file=path)
    return float(value)


def _points(value: object, key: str, path: Path) -> tuple[tuple[float, float], ...]:
    if not isinstance(value, list) or not value:
        raise ConfigError(f"[{key}] needs points = [[x, y], ...]", key=key, value=value, file=path)
    points: list[tuple[float, float]] = []
    for entry in value:
        if not isinstance(entry, list) or len(entry) != 2:
            raise ConfigError(f"[{key}] has a point that is not [x, y]: {entry!r}", key=key, value=entry, file=path)
        x, y = _number(entry[0], key, path), _number(entry[1], key, path)
        if x <= 0 or y <= 0 or (points and x <= points[-1][0]):
            raise ConfigError(f"[{key}] needs positive points with rising x, got {entry!r}", key=key, file=path)
        points.append((x, y))
    return tuple(points)


def _refuse_unknown(table: Mapping[str, object], allowed: list[str] | tuple[str, ...], prefix: str, path: Path) -> None:
    for key in table:
        if key not in allowed:
            raise ConfigError(f"unknown key '{prefix}{key}'", key=key, allowed=allowed, file=path)
