"""From a scenario's name and the command line's overrides to a checked `Scenario`.

Owns: where scenarios lie, `extends`, the order of precedence (base, scenario, command line), the list of
scenarios. Does not own: types (`schema`, `fields`), rules (`checks`). Floor 5.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.config.checks import check_scenario
from harness.config.fields import (
    DELAYS,
    EXTENDS,
    SECTIONS,
    TOP_KEYS,
    convert_value,
    known_types,
    refuse_unknown,
    required_keys,
)
from harness.config.schema import Scenario
from harness.config.toml_source import Entry, read_toml
from kernels.errors import ConfigError

SCENARIOS_DIR = Path(__file__).resolve().parents[2] / "scenarios"


@dataclass(frozen=True, slots=True)
class ScenarioLine:
    """One line of `run.py list`."""

    name: str
    summary: str
    expect: str


def load_scenario(
    name_or_path: str, overrides: Mapping[str, object] | None = None, *, folder: Path = SCENARIOS_DIR
) -> Scenario:
    """Read a scenario by name, or a user's own TOML by path, and put the overrides on top.

    Args:
        name_or_path: `hicache_bf16`, or a path that ends in `.toml`.
        overrides: `section.key` -> value; text is converted to the field's type.
    Raises: ConfigError for an unknown scenario, key or value, and for values that do not go together.
    """
    file = scenario_file(name_or_path, folder)
    entries = _read_chain(file, folder, ())
    for key, value in (overrides or {}).items():
        entries[key] = Entry(value, None, None)
    known = known_types()
    for key, entry in entries.items():
        refuse_unknown(key, entry, known)
    missing = [key for key in required_keys() if key not in entries]
    if missing:
        more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
        what = f"missing key '{missing[0]}'{more}; a scenario starts with extends = \"base\""
        raise ConfigError(what, key=missing[0], file=file)
    scenario = _build(file.stem, entries, known)
    check_scenario(scenario, entries)
    return scenario


def scenario_file(name_or_path: str, folder: Path = SCENARIOS_DIR) -> Path:
    """The file behind a name or a path. Raises: ConfigError if there is none, with the names there are."""
    if name_or_path.endswith(".toml"):
        path = Path(name_or_path)
        if not path.is_file():
            raise ConfigError("no such scenario file", key="scenario", value=name_or_path, file=path)
        return path
    path = folder / f"{name_or_path}.toml"
    names = tuple(line.name for line in list_scenarios(folder))
    if "/" in name_or_path or not path.is_file():
        raise ConfigError(f"unknown scenario '{name_or_path}'", key="scenario", value=name_or_path, allowed=names)
    return path


def list_scenarios(folder: Path = SCENARIOS_DIR) -> tuple[ScenarioLine, ...]:
    """All scenarios, by name. A file without `expect` is a parameter set for others to extend, not a scenario."""
    lines = []
    for file in sorted(folder.glob("*.toml")):
        entries = read_toml(file)
        if "expect" in entries:
            summary = entries["summary"].value if "summary" in entries else ""
            lines.append(ScenarioLine(file.stem, str(summary), str(entries["expect"].value)))
    return tuple(lines)


def _read_chain(file: Path, folder: Path, seen: tuple[Path, ...]) -> dict[str, Entry]:
    """The file's entries over those of the file that it extends."""
    entries = read_toml(file)
    parent = entries.pop(EXTENDS, None)
    if parent is None:
        return entries
    if not isinstance(parent.value, str):
        raise ConfigError("extends takes the name of a scenario file", key=EXTENDS, file=file, line=parent.line)
    # A user's own folder comes first, so that a set of private scenarios can have a base of its own.
    candidates = [file.parent / f"{parent.value}.toml", folder / f"{parent.value}.toml"]
    found = next((path for path in candidates if path.is_file()), None)
    if found is None:
        names = tuple(sorted({path.stem for at in (file.parent, folder) for path in at.glob("*.toml")}))
        what = f"extends an unknown scenario '{parent.value}'"
        raise ConfigError(what, key=EXTENDS, value=parent.value, allowed=names, file=file, line=parent.line)
    if found.resolve() in (*seen, file.resolve()):
        what = f"extends '{parent.value}', which leads back to this file"
        raise ConfigError(what, key=EXTENDS, value=parent.value, file=file, line=parent.line)
    inherited = _read_chain(found, folder, (*seen, file.resolve()))
    return {key: entry for key, entry in inherited.items() if key not in TOP_KEYS} | entries


def _build(name: str, entries: Mapping[str, Entry], known: Mapping[str, Any]) -> Scenario:
    values = {key: convert_value(key, entry, known[key]) for key, entry in entries.items() if key in known}
    delays = {
        key.removeprefix(f"{DELAYS}."): convert_value(key, entry, str)
        for key, entry in entries.items()
        if key.startswith(f"{DELAYS}.")
    }
    sections: dict[str, Any] = {
        section: struct(**{
            field: values[f"{section}.{field}"]
            for field in struct.__struct_fields__
            if f"{section}.{field}" in values
        })
        for section, struct in SECTIONS.items()
    }  # fmt: skip
    return Scenario(name=name, summary=values["summary"], expect=values["expect"], delays=delays, **sections)
