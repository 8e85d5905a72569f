"""The format of a capture: one folder, one line for each exchange that passed through the proxy.

Owns: the records, their names on the disk, and the reader. Does not own: who writes them (`store.py`), what may stand
in them (`scrubbing/`). Floor 5. Source: ours.

A capture that was cut off reads back as what there is: `capture.json` is written first and once more at the end, and a
line is whole when its newline is there.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import msgspec

from kernels.errors import ConfigError
from results.lines import LineFault, each_line
from results.records import ToolCall
from results.schema_version import schema_fault

SCHEMA: Final = "kvrace-capture/1"
CAPTURE: Final = "capture.json"
EXCHANGES: Final = "exchanges.jsonl"


@dataclass(frozen=True, slots=True)
class CapturedReply:
    """What the server answered, put together from its stream. finish_reason: None where none came."""

    content: str = ""
    reasoning: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    finish_reason: str | None = None


@dataclass(frozen=True, slots=True)
class Exchange:
    """One request and its reply, without secrets. Times are nanoseconds since the capture began.

    body: the request as it was sent. status: 0 where the upstream never answered. error: why the reply is not whole.
    """

    id: str
    arrived_ns: int
    path: str
    body: dict[str, Any]
    status: int
    reply: CapturedReply
    first_token_ns: int | None = None
    ended_ns: int | None = None
    error: str | None = None


@dataclass(frozen=True, slots=True)
class CaptureHeader:
    """started, finished: UTC, ISO 8601; finished is None while it runs, and after a crash.

    upstream: without user, password and query. passed: requests that were passed on and not recorded, by path.
    scrubbed: how many different secrets of each kind were found; those of headers were not stored in any case.
    scrubbing: the mode, and what the user added to it.
    """

    upstream: str
    started: str
    finished: str | None = None
    exchanges: int = 0
    passed: Mapping[str, int] = field(default_factory=dict)
    scrubbed: Mapping[str, int] = field(default_factory=dict)
    scrubbing: str = ""
    versions: Mapping[str, str] = field(default_factory=dict)
    ended_by: str | None = None
    schema: str = field(default=SCHEMA)


@dataclass(frozen=True, slots=True)
class Capture:
    """A capture read back. faults: lines that are torn or damaged, by file and line; they are not in `exchanges`."""

    path: Path
    header: CaptureHeader
    exchanges: tuple[Exchange, ...]
    faults: tuple[LineFault, ...]


class StoredExchanges:
    """A capture's exchanges one by one, and any of them again by its place: all of them may be larger than memory.

    Raises, when it is made: ConfigError where there is no capture, or a newer version of this tool wrote it.
    """

    def __init__(self, folder: Path) -> None:
        self.header = _header(folder)
        self.file = folder / EXCHANGES
        try:
            self._stream = self.file.open("rb")
        except OSError:
            what = f"{folder} is no capture: its {EXCHANGES} cannot be read"
            raise ConfigError(what, key="recorded", value=str(folder)) from None
        # Exchanges are looked up for as long as somebody holds this.
        weakref.finalize(self, self._stream.close)

    def __repr__(self) -> str:
        return f"StoredExchanges({self.file})"

    def each(self) -> Iterator[tuple[int, Exchange | LineFault]]:
        """Every line with its place, in the order in which the exchanges ended; faults are lines that are damaged."""
        self._stream.seek(0)
        return each_line(self._stream, self.file.name, Exchange)

    def at(self, place: int) -> Exchange:
        """The exchange at a place that `each` has told, when `each` is through."""
        self._stream.seek(place)
        return msgspec.json.decode(self._stream.readline(), type=Exchange)


def read_capture(folder: Path) -> Capture:
    """All of a small capture; exchanges stand in the order in which they ended. Raises: as `StoredExchanges`."""
    stored = StoredExchanges(folder)
    exchanges: list[Exchange] = []
    faults: list[LineFault] = []
    for _, one in stored.each():
        if isinstance(one, LineFault):
            faults.append(one)
        else:
            exchanges.append(one)
    return Capture(folder, stored.header, tuple(exchanges), tuple(faults))


def _header(folder: Path) -> CaptureHeader:
    path = folder / CAPTURE
    try:
        text = path.read_bytes()
    except OSError:
        why = "there is no such folder" if not folder.is_dir() else f"it holds no {CAPTURE}"
        raise ConfigError(f"{folder} is no capture: {why}", key="recorded", value=str(folder)) from None
    fault = schema_fault(text, SCHEMA, path)
    if fault is not None:
        raise ConfigError(f"{folder} is no capture: {fault}", key="recorded", value=str(folder))
    try:
        return msgspec.json.decode(text, type=CaptureHeader)
    except msgspec.MsgspecError as error:
        what = f"{folder} is no capture: its {CAPTURE} cannot be read ({error})"
        raise ConfigError(what, key="recorded", value=str(folder)) from None
