"""A TOML file with the line on which each key stands, so that a mistake can be shown where it is.

Owns: reading, syntax errors, the flat view (`section.key` -> value), line numbers. Does not own: what keys mean.
`tomllib` gives no positions, so the lines are found by a second, shallow reading of the text: headers and
`key =` at the start of a line, which is all that a scenario uses. Floor 5.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kernels.errors import ConfigError

_HEADER = re.compile(r"^\s*\[\s*([^\[\]]+?)\s*\]")
_KEY = re.compile(r"""^\s*("[^"]*"|'[^']*'|[A-Za-z0-9_.-]+)\s*=""")
_TOML_LINE = re.compile(r"at line (\d+)")


@dataclass(frozen=True, slots=True)
class Entry:
    """One value with the place it came from; `file` and `line` are None for one from the command line."""

    value: Any
    file: Path | None
    line: int | None


def read_toml(file: Path) -> dict[str, Entry]:
    """Read one file into a flat map; a section contributes `section.key`, and a bare section `section` too.

    Raises: ConfigError where the file cannot be read or is not TOML, with the line where TOML names one.
    """
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise ConfigError(f"cannot read this file: {reason}", file=file) from error
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        match = _TOML_LINE.search(str(error))
        # At the end of the document TOML names no line: the last one is meant.
        line = int(match[1]) if match else max(1, len(text.splitlines()))
        raise ConfigError(f"not valid TOML: {error}", file=file, line=line) from error
    lines = key_lines(text)
    return {key: Entry(value, file, lines.get(key)) for key, value in _flatten(table).items()}


def key_lines(text: str) -> dict[str, int]:
    """The 1-based line of every `section.key`, and of every header under its own name."""
    lines: dict[str, int] = {}
    section = ""
    for number, line in enumerate(text.splitlines(), start=1):
        if header := _HEADER.match(line):
            section = header[1].strip("\"'")
            lines.setdefault(section, number)
        elif key := _KEY.match(line):
            name = key[1].strip("\"'")
            lines.setdefault(f"{section}.{name}" if section else name, number)
    return lines


def _flatten(table: Mapping[str, Any]) -> dict[str, Any]:
    """One level of sections is flattened; deeper tables (an unquoted `h2d.index_k`) are joined by dots again."""
    flat: dict[str, Any] = {}
    for name, value in table.items():
        if isinstance(value, dict) and value:
            flat.update({f"{name}.{inner}": leaf for inner, leaf in _flatten(value).items()})
        else:
            flat[name] = value
    return flat
