"""Stored traces, JSON Lines: read, checked, and fed to a detector row by row.

Owns: what a row must hold, and the line and reason where one does not. Does not own: the writer (substrate/trace_json),
order (detector). Floor 2b. Format: docs/trace-format.md.

A trace from elsewhere may use, besides the rows that our machines write:
    {"row": "buffer", "name", "space", "bytes": SIZE}          a buffer that is accessed by byte ranges
    "accesses": [{"mode", "buffer", "bytes": [[begin, end], ...]}]
    {"row": "touch", "thread", "op", "label", "time", "accesses"}   a host thread itself reads or writes memory
    {"row": "alloc" or "free", "op", "thread", "time", "buffer", "bytes" or "layers" and "pages", ["stream"]}
An allocation and a release count as writes of the whole range: whatever is not ordered with them is a race.

A file that ends without its closing line, or holds anything that is not understood, is UNKNOWN: never clean.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import orjson

from kernels.races.detector.detector import Detector
from kernels.races.detector.footprint import ByteRanges, Footprint
from kernels.races.detector.memory import Touch
from kernels.substrate.trace import HostStep, Operation

FORMATS = ("kvrace-trace/1",)

Row = dict[str, Any]

_EXAMPLES_MAX = 8


class _Misfit(Exception):
    """This row cannot be understood. Never leaves this module."""


def judge_lines(lines: Iterable[bytes], detector: Detector | None = None) -> Detector:
    """Judge a stored trace. Reads to the end, or to the first line that breaks it.

    Returns: a detector whose `problems` name line and reason where the trace is truncated or foreign.
    """
    judge = detector if detector is not None else Detector()
    reader = _Reader(judge)
    number = 0
    for number, line in enumerate(lines, start=1):
        judge.row_count = number - 1
        try:
            reader.row(line)
        except _Misfit as misfit:
            _blame(judge, number, str(misfit))
            return judge
        if len(judge.problems) >= _EXAMPLES_MAX:
            return judge
    if not reader.is_over:
        _blame(judge, number + 1, "the trace ends without its closing row: it is truncated")
    return judge


def _blame(judge: Detector, number: int, reason: str) -> None:
    judge.row_count = number
    judge.blame(reason)


class _Reader:
    """What was seen so far of one file, and what each kind of row means."""

    def __init__(self, detector: Detector) -> None:
        self.is_over = False
        self._detector = detector
        self._row_count = 0
        self._kinds: dict[str, Callable[[Row], None]] = {
            "buffer": self._buffer,
            "copy": self._memory,
            "kernel": self._memory,
            "record": self._event,
            "wait": self._event,
            "touch": self._touch,
            "alloc": self._lifetime,
            "free": self._lifetime,
            "stale": lambda _: None,
            "end": self._end,
            **dict.fromkeys(("spawn", "until", "query", "park", "wake", "exit"), self._host),
        }

    def row(self, line: bytes) -> None:
        """Take one line. Raises: _Misfit."""
        if self.is_over:
            raise _Misfit("there are rows behind the closing row")
        try:
            row = orjson.loads(line)
        except orjson.JSONDecodeError as error:
            raise _Misfit(f"no JSON: {error}") from None
        if not isinstance(row, dict) or not isinstance(row.get("row"), str):
            raise _Misfit("no object with a 'row'")
        kind = row["row"]
        if self._row_count == 0:
            self._header(row)
        elif kind in self._kinds:
            self._kinds[kind](row)
        else:
            raise _Misfit(f"unknown row '{kind}'; known: {', '.join(self._kinds)}")
        self._row_count += 1

    def _header(self, row: Row) -> None:
        if row["row"] != "header" or row.get("format") not in FORMATS:
            raise _Misfit(f"the first row must be a header with format {' or '.join(FORMATS)}, not {row}")

    def _end(self, row: Row) -> None:
        if _integer(row, "rows") != self._row_count:
            raise _Misfit(f"the closing row counts {row['rows']} rows, there are {self._row_count}")
        self.is_over = True

    def _buffer(self, row: Row) -> None:
        if "bytes" in row:
            self._detector.declare(_text(row, "name"), 1, 0)
        else:
            self._detector.declare(_text(row, "name"), _integer(row, "layers"), _integer(row, "pages"))

    def _memory(self, row: Row) -> None:
        self._detector.touching(_operation(row), _touches(row))

    def _event(self, row: Row) -> None:
        operation = _operation(row)
        operation.event, operation.generation = _text(row, "event"), _integer(row, "generation")
        self._detector.operation(operation)

    def _touch(self, row: Row) -> None:
        self._detector.host_touching(_host_operation(row), _touches(row))

    def _lifetime(self, row: Row) -> None:
        whole = _touches({"accesses": [{**row, "mode": "write"}]})
        if "stream" in row:
            operation = _operation({**row, "row": "kernel", "label": row["row"], "issue": row.get("time")})
            self._detector.touching(operation, whole)
        else:
            self._detector.host_touching(_host_operation({"label": row["row"], **row}), whole)

    def _host(self, row: Row) -> None:
        wakes = row.get("wakes", [])
        if not isinstance(wakes, list) or not all(isinstance(number, int) for number in wakes):
            raise _Misfit("'wakes' must be a list of integers")
        if row["row"] == "wake" and not wakes:
            raise _Misfit("a wake has no number")
        step = HostStep(
            row["row"],
            _text(row, "thread"),
            _integer(row, "time"),
            event=str(row.get("event", "")),
            generation=_integer(row, "generation") if "generation" in row else 0,
            other=str(row.get("other", "")),
            answer=bool(row.get("answer", True)),
            wakes=tuple(wakes),
            issued=_integer(row, "issued"),
        )
        self._detector.host(step)


def _operation(row: Row) -> Operation:
    layer = row.get("layer")
    return Operation(
        _integer(row, "op"),
        row["row"],
        _text(row, "stream"),
        _text(row, "thread"),
        _text(row, "label"),
        _integer(row, "issue"),
        layer=layer if isinstance(layer, int) else None,
        start_ns=_integer(row, "start") if "start" in row else -1,
        end_ns=_integer(row, "end") if "end" in row else -1,
        site=str(row.get("site", "")),
    )


def _host_operation(row: Row) -> Operation:
    thread, time_ns = _text(row, "thread"), _integer(row, "time")
    # Its number says where it stands in the thread's program: behind what the thread learnt before it was issued.
    operation = Operation(_integer(row, "op"), "kernel", f"host {thread}", thread, _text(row, "label"), time_ns)
    operation.start_ns = operation.end_ns = time_ns
    operation.site = str(row.get("site", ""))
    return operation


def _touches(row: Row) -> list[Touch]:
    accesses = row.get("accesses")
    if not isinstance(accesses, list):
        raise _Misfit("'accesses' is missing or is no list: every operation declares what it touches")
    touches: list[Touch] = []
    for access in accesses:
        if not isinstance(access, dict) or access.get("mode") not in ("read", "write"):
            raise _Misfit(f"an access has no mode 'read' or 'write': {access}")
        layers = access.get("layers", [0])
        if not isinstance(layers, list) or not layers or not all(isinstance(layer, int) for layer in layers):
            raise _Misfit(f"an access has no list of layers: {access}")
        touches.append(Touch(access["mode"] == "write", _text(access, "buffer"), tuple(layers), _footprint(access)))
    return touches


def _footprint(access: Row) -> Footprint:
    if "bytes" in access:
        return ByteRanges(_intervals(access, "bytes"))
    mask = 0
    for begin, end in _intervals(access, "pages"):
        mask |= (1 << end) - (1 << begin)
    return mask


def _intervals(access: Row, name: str) -> list[tuple[int, int]]:
    listed = access.get(name)
    if not isinstance(listed, list):
        raise _Misfit(f"an access has neither 'pages' nor 'bytes': {access}")
    intervals: list[tuple[int, int]] = []
    for pair in listed:
        is_pair = isinstance(pair, list) and len(pair) == 2 and all(isinstance(edge, int) for edge in pair)
        if not is_pair or not 0 <= pair[0] <= pair[1]:
            raise _Misfit(f"{pair} is no half-open interval of {name}")
        intervals.append((pair[0], pair[1]))
    return intervals


def _text(row: Row, name: str) -> str:
    value = row.get(name)
    if not isinstance(value, str):
        raise _Misfit(f"'{name}' is missing or is no text")
    return value


def _integer(row: Row, name: str) -> int:
    value = row.get(name)
    if not isinstance(value, int):
        raise _Misfit(f"'{name}' is missing or is no integer")
    return value
