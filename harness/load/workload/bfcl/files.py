"""The leaderboard's files: JSON objects, one a line, each remembered with its place.

Owns: which files belong together, and errors that name file and line. Does not own: what a row means. Floor 5.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from kernels.errors import ConfigError

SINGLE_TURN = ("simple_python", "live_multiple", "parallel_multiple")
MULTI_TURN = ("multi_turn_base", "multi_turn_long_context")

# The function docs of each class that a multi-turn row involves.
CLASS_DOCS: Mapping[str, str] = MappingProxyType(
    {
        "GorillaFileSystem": "gorilla_file_system",
        "MathAPI": "math_api",
        "MessageAPI": "message_api",
        "TwitterAPI": "posting_api",
        "TicketAPI": "ticket_api",
        "TradingBot": "trading_bot",
        "TravelAPI": "travel_booking",
        "VehicleControlAPI": "vehicle_control",
    }
)


@dataclass(frozen=True, slots=True)
class Row:
    """One line of a file."""

    file: Path
    line: int
    content: Mapping[str, Any]

    def field(self, name: str, kind: type) -> Any:
        """Raises: ConfigError with file and line if the field is missing or of another kind."""
        if name not in self.content:
            raise self.refuse(f"field '{name}' is missing")
        value = self.content[name]
        if not isinstance(value, kind):
            raise self.refuse(f"field '{name}' is {type(value).__name__}, not {kind.__name__}")
        return value

    def refuse(self, reason: str) -> ConfigError:
        return ConfigError(f"not a BFCL file: {reason}", key="workload.source", file=self.file, line=self.line)


def question_file(folder: Path, category: str) -> Path:
    return folder / f"BFCL_v4_{category}.json"


def answer_file(folder: Path, category: str) -> Path:
    return folder / "possible_answer" / f"BFCL_v4_{category}.json"


def doc_file(folder: Path, name: str) -> Path:
    return folder / "multi_turn_func_doc" / f"{name}.json"


def present_categories(folder: Path) -> tuple[str, ...]:
    """The categories whose questions are in the folder.

    Raises: ConfigError if there is no folder, no category, or a category without its answers.
    """
    if not folder.is_dir():
        raise ConfigError(f"no BFCL folder at '{folder}'", key="workload.source", value=str(folder))
    known = (*SINGLE_TURN, *MULTI_TURN)
    present = tuple(category for category in known if question_file(folder, category).is_file())
    if not present:
        names = ", ".join(question_file(folder, category).name for category in known)
        what = f"no BFCL questions in this folder; one of these is needed: {names}"
        raise ConfigError(what, key="workload.source", file=folder)
    for category in present:
        if not answer_file(folder, category).is_file():
            what = f"no answers for {question_file(folder, category).name}; this file is needed"
            raise ConfigError(what, key="workload.source", file=answer_file(folder, category))
    return present


def read_rows(file: Path) -> list[Row]:
    """Raises: ConfigError if the file cannot be read, or with the line that is not a JSON object."""
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise ConfigError(f"cannot read this file: {reason}", key="workload.source", file=file) from error
    rows = []
    # Only newlines end a row: JSON text may hold other line separators.
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        content = _parsed(Row(file, number, {}), line)
        row = Row(file, number, content)
        if not isinstance(content, dict):
            raise row.refuse(f"a line must hold a JSON object, not {type(content).__name__}")
        rows.append(row)
    return rows


def _parsed(place: Row, line: str) -> Any:
    try:
        content = json.loads(line)
        # Half of a surrogate pair is valid in JSON, but no text that can be sent.
        json.dumps(content, ensure_ascii=False).encode()
    except json.JSONDecodeError as error:
        raise place.refuse(f"{error.msg} at column {error.colno}") from error
    except RecursionError as error:
        raise place.refuse("nested too deeply") from error
    except UnicodeEncodeError as error:
        raise place.refuse("half of a surrogate pair") from error
    return content


def by_id(rows: list[Row]) -> dict[str, Row]:
    """Raises: ConfigError if an id is missing or given twice."""
    found: dict[str, Row] = {}
    for row in rows:
        name = row.field("id", str)
        if name in found:
            raise row.refuse(f"id '{name}' is also on line {found[name].line}")
        found[name] = row
    return found
