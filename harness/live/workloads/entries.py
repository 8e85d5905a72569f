"""Files of JSON objects, one a line or in one array, read piece by piece, and their entries with their places.

Owns: streaming, line numbers, and sentences that name file and line. Does not own: what an entry means (each format).
Floor 5. Source: ours. A file is never held as a whole: published sets have hundreds of megabytes.
"""

from __future__ import annotations

import gzip
import json
import re
import zlib
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from io import TextIOWrapper
from pathlib import Path
from typing import IO, Any, Final

import orjson

from kernels.errors import ConfigError

KEY: Final = "--workload"
_PIECE_CHARACTERS: Final = 1 << 20
ENTRY_CHARACTERS_MAX: Final = 256 << 20
_TAIL_CHARACTERS: Final = 16
"""A literal or an escape that is cut is shorter than this."""
UNREADABLE: Final = (OSError, EOFError, zlib.error, UnicodeDecodeError)
_DECODER: Final = json.JSONDecoder()
_HALF_PAIR: Final = re.compile(r"\\u[dD][89a-fA-F]")
_KIND_NAMES: Final[Mapping[type, str]] = {
    str: "text", int: "a whole number", float: "a number", list: "a list", dict: "an object", bool: "true or false",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Entry:
    """One JSON object of a file. line: where it begins."""

    file: Path
    line: int
    fields: Mapping[str, Any]

    def field(self, name: str, kind: type) -> Any:
        """Raises: ConfigError where the field is missing or of another kind."""
        if self.fields.get(name) is None:
            raise self.refuse(f"field '{name}' is missing")
        return self.optional(name, kind)

    def optional(self, name: str, kind: type) -> Any:
        """None where it is missing or null. Raises: ConfigError where it is of another kind."""
        value = self.fields.get(name)
        kinds = (int, float) if kind is float else kind
        if value is not None and (not isinstance(value, kinds) or (kind is not bool and isinstance(value, bool))):
            raise self.refuse(f"field '{name}' is {kind_of(value)}, not {_KIND_NAMES[kind]}")
        return value

    def refuse(self, what: str) -> ConfigError:
        return ConfigError(what, key=KEY, file=self.file, line=self.line)

    def refuse_unsendable(self, what: str, value: Any) -> None:
        """Raises: ConfigError for what our JSON cannot spell, such as a whole number of more than 64 bits."""
        try:
            orjson.dumps(value)
        except orjson.JSONEncodeError as problem:
            raise self.refuse(f"{what} cannot be sent as JSON: {problem}") from None

    def count_unknown(self, known: Collection[str], left_out: Counter[str]) -> None:
        """Effect: one more in `left_out` for each field that nobody reads."""
        left_out.update(f"field '{name}'" for name in self.fields if name not in known)


def kind_of(value: object) -> str:
    return "null" if value is None else _KIND_NAMES.get(type(value), type(value).__name__)


def unreadable(file: Path, problem: Exception) -> ConfigError:
    """The sentence for one of `UNREADABLE`."""
    if isinstance(problem, UnicodeDecodeError):
        return ConfigError("this file is not UTF-8 text", key=KEY, file=file)
    reason = problem.strerror if isinstance(problem, OSError) and problem.strerror else problem
    return ConfigError(f"cannot read this file: {reason}", key=KEY, file=file)


def read_entries(file: Path) -> Iterator[Entry]:
    """Every object, in order. An array may hold lists as well: such an entry has the one field `messages`.

    Raises: ConfigError for a file that cannot be read, that holds no entry, or at the first place that is broken.
    """
    count = 0
    try:
        with open_text(file) as stream:
            text, line = _begin(stream)
            entries = _in_array(file, stream, text, line) if text[:1] == "[" else _by_line(file, stream, text, line)
            for entry in entries:
                count += 1
                yield entry
    except UNREADABLE as problem:
        raise unreadable(file, problem) from None
    if not count:
        raise ConfigError("this file holds no entry", key=KEY, file=file)


def read_object(file: Path) -> Entry | None:
    """The one object that a file is, over however many lines; None for an array, and for objects one a line.

    Raises: ConfigError for a file that cannot be read.
    """
    try:
        with open_text(file) as stream:
            text, line = _begin(stream)
            if text[:1] != "{":
                return None
            text += stream.read(ENTRY_CHARACTERS_MAX)
    except UNREADABLE as problem:
        raise unreadable(file, problem) from None
    try:
        value, end = _DECODER.raw_decode(text)
    except (ValueError, RecursionError) as problem:
        raise _broken(file, line, problem, text, 0) from None
    return None if text[end:].strip() else _entry(file, line, value, text)


def open_text(file: Path) -> IO[str]:
    """The file as text; `.gz` unpacked. Raises: ConfigError where there is none."""
    try:
        raw = gzip.open(file, "rb") if file.suffix == ".gz" else file.open("rb")  # noqa: SIM115 - the caller closes it
    except OSError as problem:
        raise unreadable(file, problem) from None
    return TextIOWrapper(raw, encoding="utf-8-sig", newline="\n")


def _begin(stream: IO[str]) -> tuple[str, int]:
    """The first piece from its first character that is no white space on, and that character's line."""
    line = 1
    while text := stream.read(_PIECE_CHARACTERS):
        line += text.count("\n")
        if begun := text.lstrip():
            return begun, line - begun.count("\n")
    return "", line


def _by_line(file: Path, stream: IO[str], text: str, line: int) -> Iterator[Entry]:
    while piece := text or stream.read(_PIECE_CHARACTERS):
        # Only newlines end an entry: JSON text may hold other line separators.
        *whole, rest = (piece + stream.readline()).split("\n")
        for content in whole if not rest else [*whole, rest]:
            if content.strip():
                yield _entry(file, line, _parsed(file, line, content), content)
            line += 1
        text = ""


def _in_array(file: Path, stream: IO[str], text: str, line: int) -> Iterator[Entry]:
    """The items of a JSON array, which is what `text` begins with."""
    at = 1
    while True:
        begin = _next_item(text, at)
        line += text.count("\n", at, begin)
        at = begin
        if text[at : at + 1] == "]":
            return
        try:
            item, end = _DECODER.raw_decode(text, at)
        except (ValueError, RecursionError) as problem:
            more = stream.read(max(_PIECE_CHARACTERS, len(text) - at)) if _is_cut(problem, text, at) else ""
            if not more:
                raise _broken(file, line, problem, text, at) from None
            text, at = text[at:] + more, 0
            continue
        yield _entry(file, line, item, text[at:end])
        line += text.count("\n", at, end)
        at = end


def _next_item(text: str, at: int) -> int:
    while at < len(text) and text[at] in " \t\r\n,":
        at += 1
    return at


def _is_cut(problem: Exception, text: str, at: int) -> bool:
    """Whether more text may make an item whole: the fault is where the text ends, or a string that goes on there."""
    if not isinstance(problem, json.JSONDecodeError) or len(text) - at > ENTRY_CHARACTERS_MAX:
        return False
    return problem.msg.startswith("Unterminated string") or problem.pos >= len(text) - _TAIL_CHARACTERS


def _broken(file: Path, line: int, problem: Exception, text: str, at: int) -> ConfigError:
    if not isinstance(problem, json.JSONDecodeError):
        return ConfigError(f"not JSON: {_beyond(problem)}", key=KEY, file=file, line=line)
    what = problem.msg if text[at:] else "the array does not end"
    line += text.count("\n", at, problem.pos)
    return ConfigError(f"not JSON: {what}", key=KEY, file=file, line=line)


def _parsed(file: Path, line: int, content: str) -> Any:
    try:
        return json.loads(content)
    except json.JSONDecodeError as problem:
        raise ConfigError(f"not JSON: {problem.msg} at column {problem.colno}", key=KEY, file=file, line=line) from None
    except (ValueError, RecursionError) as problem:
        raise ConfigError(f"not JSON: {_beyond(problem)}", key=KEY, file=file, line=line) from None


def _beyond(problem: Exception) -> str:
    """What Python reads as JSON only up to a limit."""
    return "nested too deeply" if isinstance(problem, RecursionError) else "a number has too many digits"


def _entry(file: Path, line: int, value: Any, text: str) -> Entry:
    if _HALF_PAIR.search(text):
        # Half of a surrogate pair is valid in JSON, but no text that can be sent.
        sendable = json.dumps(value, ensure_ascii=False).encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        value = json.loads(sendable)
    if isinstance(value, list):
        value = {"messages": value}
    if not isinstance(value, dict):
        raise ConfigError(f"an entry must be a JSON object, not {kind_of(value)}", key=KEY, file=file, line=line)
    return Entry(file, line, value)
