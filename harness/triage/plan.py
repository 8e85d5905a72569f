"""A triage plan: how a server is started and stopped, how it is loaded, and the switches to try.

Owns: the keys of the TOML file, their bounds, one sentence for each mistake. Does not own: commands (`command.py`), the
options of a load (`run.py stress`). Floor 5. Source: ours.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, get_type_hints

from msgspec import Meta, Struct, convert

from harness.config.fields import convert_value
from harness.config.toml_source import Entry, read_toml
from kernels.errors import ConfigError
from scenarios.zoo.specimen import RaceClass

BASE = "base"
AGAIN = "base-again"
ALL = "all"
PORT = "{port}"
PYTHON = "{python}"
_RESERVED = (BASE, AGAIN, ALL)
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,39}")

Text = Annotated[str, Meta(max_length=20_000)]
Seconds = Annotated[float, Meta(gt=0, le=7_200)]
Environment = Mapping[str, str]


class ServerPart(Struct, frozen=True, kw_only=True):
    """start, stop, base_url: `{port}` stands for a free port, another one at each start; `{python}` for this Python.

    stop: empty where the server ends by SIGTERM. ready_s, stop_s: how long to wait for either.
    """

    start: Text
    base_url: Text = f"http://127.0.0.1:{PORT}/v1"
    stop: Text = ""
    ready_s: Seconds = 900.0
    stop_s: Seconds = 60.0
    env: Environment = {}


class StressPart(Struct, frozen=True, kw_only=True):
    """options: of `run.py stress`, as one would type them. blocks: of each arm, each with a seed of its own.

    warm_blocks: run first after each start and thrown away. enough: an arm with so many corrupted blocks has answered.
    """

    options: Text = ""
    blocks: Annotated[int, Meta(ge=2, le=200)] = 10
    warm_blocks: Annotated[int, Meta(ge=0, le=20)] = 0
    enough: Annotated[int, Meta(ge=1, le=200)] = 3


class Toggle(Struct, frozen=True, kw_only=True):
    """One switch. drop: flags that go from the start command, each with its value; append: words that come to it.

    start: another command altogether. stress: further options of the load. implicates: what its cure speaks for, and
    what speaks against where it is none, unless it only `shifts` sizes or times and leaves the path as it is.
    """

    name: Text
    why: Text = ""
    append: Text = ""
    drop: tuple[str, ...] = ()
    env: Environment = {}
    start: Text = ""
    stress: Text = ""
    implicates: tuple[RaceClass, ...] = ()
    shifts: bool = False


class TriagePlan(Struct, frozen=True, kw_only=True):
    """toggles: in the order in which they are tried, cheapest first."""

    server: ServerPart
    stress: StressPart
    toggles: tuple[Toggle, ...]

    def toggle(self, name: str) -> Toggle:
        return next(one for one in self.toggles if one.name == name)


def read_plan(file: Path) -> TriagePlan:
    """Raises: ConfigError for anything missing, unknown or out of bounds, with file and line."""
    entries = read_toml(file)
    server: dict[str, Any] = {}
    stress: dict[str, Any] = {}
    toggles: dict[str, dict[str, Any]] = {}
    for key, entry in entries.items():
        section, _, rest = key.partition(".")
        if section == "server":
            _put(server, ServerPart, key, rest, entry)
        elif section == "stress":
            _put(stress, StressPart, key, rest, entry)
        elif section == "toggle":
            name, _, field = rest.partition(".")
            _put(toggles.setdefault(name, {"name": name}), Toggle, key, field, entry)
        else:
            raise _wrong(f"unknown section '{section}'", entry, key=section, allowed=("server", "stress", "toggle"))
    if "start" not in server:
        raise ConfigError(
            "missing key 'server.start', the command that starts the server", key="server.start", file=file
        )
    plan = convert({"server": server, "stress": stress, "toggles": list(toggles.values())}, TriagePlan)
    _check(plan, entries, file)
    return plan


def _put(values: dict[str, Any], struct: type[Struct], key: str, field: str, entry: Entry) -> None:
    """One key of a section into its values, checked where it stands."""
    hints = get_type_hints(struct, include_extras=True)
    allowed = [name for name in hints if name != "name"]
    if not field and entry.value == {}:
        return
    head, _, variable = field.partition(".")
    if head == "env" and variable:
        if not isinstance(entry.value, str):
            raise _wrong(f"{key} is no text; environment variables are", entry, key=key)
        values.setdefault("env", {})[variable] = entry.value
    elif field not in allowed or field == "env":
        raise _wrong(f"unknown key '{key}'", entry, key=field, allowed=allowed)
    else:
        values[field] = convert_value(key, entry, hints[field])


def _check(plan: TriagePlan, entries: Mapping[str, Entry], file: Path) -> None:
    if not plan.toggles:
        raise ConfigError("no [toggle.NAME] section: there is nothing to try", key="toggle", file=file)
    for toggle in plan.toggles:
        at = next(entry for key, entry in entries.items() if key.split(".")[:2] == ["toggle", toggle.name])
        if _NAME.fullmatch(toggle.name) is None or toggle.name in _RESERVED:
            what = f"'{toggle.name}' cannot name a toggle; letters, digits, '.', '_' and '-' can, but for {_RESERVED}"
            raise _wrong(what, at, key=toggle.name)
        if not (toggle.append or toggle.drop or toggle.env or toggle.start or toggle.stress):
            what = f"toggle '{toggle.name}' changes nothing; give it append, drop, env, start or stress"
            raise _wrong(what, at, key=toggle.name)
    if sum(bool(toggle.start) for toggle in plan.toggles) > 1:
        what = "more than one toggle has a start command, and two of them cannot be tried together"
        raise ConfigError(f"{what}; use append, drop or env", key="start", file=file)
    for key, text in _commands(plan):
        try:
            words = shlex.split(text)
        except ValueError as problem:
            raise _wrong(f"{key} cannot be read as a command ({problem})", entries[key], key=key) from None
        if key == "server.start" and not words:
            raise _wrong(f"{key} is empty", entries[key], key=key)


def _commands(plan: TriagePlan) -> list[tuple[str, str]]:
    """Every text that must read as words of a shell, by its key; only those that are there."""
    texts = [
        ("server.start", plan.server.start),
        ("server.stop", plan.server.stop),
        ("stress.options", plan.stress.options),
    ]
    for toggle in plan.toggles:
        at = f"toggle.{toggle.name}"
        texts += [(f"{at}.append", toggle.append), (f"{at}.start", toggle.start), (f"{at}.stress", toggle.stress)]
    return [(key, text) for key, text in texts if text or key == "server.start"]


def _wrong(what: str, entry: Entry, *, key: str, allowed: tuple[str, ...] | list[str] = ()) -> ConfigError:
    return ConfigError(what, key=key, allowed=allowed, file=entry.file, line=entry.line)
