"""`scenarios/nightly.toml`: what a night runs.

Owns: its keys, their types and bounds. Does not own: reading TOML and converting values (`harness.config`), what a
scenario or an override may be (the commands that get them). Floor 5.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import msgspec
from msgspec import Meta, Struct

from harness.config.fields import convert_value
from harness.config.loading import SCENARIOS_DIR
from harness.config.schema import Name, Positive
from harness.config.toml_source import Entry, read_toml
from harness.nightly.budget import parse_budget
from kernels.errors import ConfigError

DEFAULT_CONFIG = SCENARIOS_DIR / "nightly.toml"
SETTINGS = "settings"
_SETTING = f"{SETTINGS}."

Repeats = Annotated[int, Meta(ge=2, le=50)]


class NightPart(Struct, frozen=True, kw_only=True):
    """budget: of the whole night. checks: by name, in their order. keep_nights: nights whose single runs are kept."""

    budget: Name
    checks: Annotated[tuple[Name, ...], Meta(min_length=1)]
    keep_nights: Positive


class MatrixPart(Struct, frozen=True, kw_only=True):
    """The arms over the same seeds, as `run.py matrix` takes them."""

    arms: Annotated[tuple[Name, ...], Meta(min_length=1)]
    seeds: Name
    sessions: Positive


class SpeedPart(Struct, frozen=True, kw_only=True):
    """The main command, timed. repeats: how often; its spread is the noise that a slower one must leave."""

    scenario: Name
    sessions: Positive
    seed: Annotated[int, Meta(ge=0)]
    repeats: Repeats


class SearchPart(Struct, frozen=True, kw_only=True):
    """A race command on a scenario. budget: schedules or orders at most."""

    scenario: Name
    budget: Positive


class NightlyConfig(Struct, frozen=True, kw_only=True):
    """Everything a night runs. settings: `section.key` -> text, overrides of every run of matrix and speed."""

    night: NightPart
    matrix: MatrixPart
    speed: SpeedPart
    race: SearchPart
    prove: SearchPart
    mutants: SearchPart
    settings: Mapping[str, str]

    @property
    def budget_s(self) -> int:
        return parse_budget(self.night.budget)


def load_config(file: Path, known_checks: tuple[str, ...]) -> NightlyConfig:
    """Raises: ConfigError for anything missing, unknown or out of bounds, with file and line."""
    entries = read_toml(file)
    settings = {key.removeprefix(_SETTING): entry for key, entry in entries.items() if key.startswith(_SETTING)}
    known = _known()
    for key, entry in entries.items():
        # A section without any key stands there under its own name.
        is_setting = key == SETTINGS or key.startswith(_SETTING)
        if key not in known and not is_setting:
            section = key.partition(".")[0]
            allowed = [name for name in known if name.startswith(f"{section}.")] or list(known)
            raise ConfigError(f"unknown key '{key}'", key=key, allowed=allowed, file=file, line=entry.line)
    missing = [key for key in known if key not in entries]
    if missing:
        raise ConfigError(f"missing key '{missing[0]}'", key=missing[0], file=file)
    parts: dict[str, dict[str, Any]] = {SETTINGS: {key: _text(entry) for key, entry in settings.items()}}
    for key, kind in known.items():
        section, _, name = key.partition(".")
        parts.setdefault(section, {})[name] = convert_value(key, entries[key], kind)
    # The sections are built, not only converted: so that each value was refused with its own file and line.
    config = msgspec.convert(parts, NightlyConfig)
    _check(config, entries, known_checks, file)
    return config


def _check(config: NightlyConfig, entries: Mapping[str, Entry], known_checks: tuple[str, ...], file: Path) -> None:
    chosen = config.night.checks
    at = entries["night.checks"].line
    for name in chosen:
        if name not in known_checks:
            raise ConfigError(f"unknown check '{name}'", key=name, allowed=known_checks, file=file, line=at)
        if chosen.count(name) > 1:
            raise ConfigError(f"check '{name}' is named twice", key=name, file=file, line=at)
    try:
        parse_budget(config.night.budget)
    except ConfigError as error:
        line = entries["night.budget"].line
        raise ConfigError(
            error.what.replace("--budget", "night.budget ="), key="night.budget", file=file, line=line
        ) from None


def _sections() -> dict[str, type[Struct]]:
    hints = get_type_hints(NightlyConfig, include_extras=True)
    return {name: kind for name, kind in hints.items() if isinstance(kind, type) and issubclass(kind, Struct)}


def _known() -> dict[str, Any]:
    known: dict[str, Any] = {}
    for section, struct in _sections().items():
        hints = get_type_hints(struct, include_extras=True)
        known |= {f"{section}.{name}": hints[name] for name in struct.__struct_fields__}
    return known


def _text(entry: Entry) -> str:
    value = entry.value
    if isinstance(value, bool):
        return str(value).lower()
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)
