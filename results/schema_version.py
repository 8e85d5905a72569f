"""Formats with a version: `kvrace-run/1`, and what to do with one that this version does not know.

Owns: the form of the word, and which versions are read. Does not own: the formats. Floor 3. Source: ours.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import msgspec

from results.errors import NewerRun


@dataclass(frozen=True, slots=True)
class _Versioned:
    schema: str


def schema_fault(text: bytes, known: str, path: Path) -> str | None:
    """Why JSON with a `schema` is not of the known format, in words; None where it is.

    Raises: NewerRun where a newer version of this tool wrote it.
    """
    try:
        found = msgspec.json.decode(text, type=_Versioned).schema
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        return f"its {path.name} cannot be read ({error})"
    name, number = _version(known)
    found_name, found_number = _version(found)
    if found_name != name:
        return f"its format is '{found}', not '{known}'"
    if found_number > number:
        raise NewerRun(path.parent, found, known)
    return None


def _version(schema: str) -> tuple[str, int]:
    match = re.fullmatch(r"([a-z-]+)/(\d+)", schema)
    return (match[1], int(match[2])) if match else (schema, 0)
