"""What a key of a scenario may be, and how a written value becomes the field's type.

Owns: the list of known keys, conversion of one value (strict from TOML, from text on the command line), and the
error that names key, value, place and what is allowed. Does not own: where values come from (`loading`).
Floor 5.
"""

from __future__ import annotations

import types
from collections.abc import Mapping
from enum import Enum
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

import msgspec

from harness.config.schema import CacheConfig, CostConfig, EngineConfig, Scenario, WorkloadSpec
from harness.config.toml_source import Entry
from kernels.errors import ConfigError

SECTIONS: Mapping[str, type[msgspec.Struct]] = types.MappingProxyType(
    {"cache": CacheConfig, "engine": EngineConfig, "cost": CostConfig, "workload": WorkloadSpec}
)
DELAYS = "delays"
TOP_KEYS = ("summary", "expect")
EXTENDS = "extends"


def known_types() -> dict[str, Any]:
    """Annotated type of every key but the delay points: `summary`, `expect`, `cache.preset`, ..."""
    top = get_type_hints(Scenario, include_extras=True)
    found: dict[str, Any] = {name: top[name] for name in TOP_KEYS}
    for section, struct in SECTIONS.items():
        hints = get_type_hints(struct, include_extras=True)
        found.update({f"{section}.{name}": hints[name] for name in struct.__struct_fields__})
    return found


def required_keys() -> list[str]:
    """Every key that has no default, in the order of the schema."""
    names = list(TOP_KEYS)
    for section, struct in SECTIONS.items():
        names += [f"{section}.{field.name}" for field in msgspec.structs.fields(struct) if field.required]
    return names


def refuse_unknown(key: str, entry: Entry, known: Mapping[str, Any]) -> None:
    """Raises: ConfigError if no field has this key; it lists the neighbours, not all keys of all sections."""
    if key in known or key.startswith(f"{DELAYS}.") or (key == DELAYS and entry.value == {}):
        return
    if key in SECTIONS and entry.value == {}:
        return
    section = key.partition(".")[0]
    if "." not in key:
        allowed = (EXTENDS, *TOP_KEYS, *(f"[{name}]" for name in (*SECTIONS, DELAYS)))
        raise ConfigError(f"unknown key '{key}'", key=key, allowed=allowed, file=entry.file, line=entry.line)
    if section not in SECTIONS:
        names = (*SECTIONS, DELAYS)
        raise ConfigError(f"unknown section '{section}'", key=section, allowed=names, file=entry.file, line=entry.line)
    allowed = tuple(name for name in known if name.startswith(f"{section}."))
    raise ConfigError(f"unknown key '{key}'", key=key, allowed=allowed, file=entry.file, line=entry.line)


def convert_value(key: str, entry: Entry, kind: Any) -> Any:
    """The value as the field's type. Text from the command line is read leniently, TOML is taken at its word.

    Raises: ConfigError that names key, value, place and, where there are only a few, the allowed values.
    """
    value = entry.value
    is_text = entry.file is None and isinstance(value, str)
    if is_text and _is_tuple(kind):
        value = [word.strip() for word in value.split(",") if word.strip()]
    try:
        return msgspec.convert(value, kind, strict=not is_text)
    except msgspec.ValidationError as error:
        allowed = allowed_values(kind)
        reason = "is not one of the allowed values" if allowed else _reason(str(error), kind)
        wrong = _first_not_in(allowed, value) if allowed and _is_tuple(kind) else entry.value
        what = f"{key} = {_shown(wrong)}: {reason}"
        raise ConfigError(what, key=key, value=wrong, allowed=allowed, file=entry.file, line=entry.line) from error


def allowed_values(kind: Any) -> tuple[str, ...]:
    """The few values that a field may have, or () where they are not a list."""
    if kind is bool:
        return ("true", "false")
    if get_origin(kind) is Literal:
        return tuple(str(value) for value in get_args(kind))
    if isinstance(kind, type) and issubclass(kind, Enum):
        return tuple(str(member.value) for member in kind)
    if _is_tuple(kind):
        return allowed_values(get_args(kind)[0])
    return ()


def _first_not_in(allowed: tuple[str, ...], value: Any) -> Any:
    """Of a list, the one word that is wrong; the value itself where it is no list."""
    words = value if isinstance(value, list) else []
    return next((word for word in words if word not in allowed), value)


def _is_tuple(kind: Any) -> bool:
    return get_origin(kind) is tuple


def _reason(message: str, kind: Any) -> str:
    for meta in get_args(kind)[1:] if get_origin(kind) is Annotated else ():
        if meta.description:
            return str(meta.description)
    plain = message.replace("`", "").replace("float", "number").replace("int ", "integer ")
    return plain[:1].lower() + plain[1:]


def _shown(value: object) -> str:
    return f"'{value}'" if isinstance(value, str) else str(value).lower() if isinstance(value, bool) else str(value)
