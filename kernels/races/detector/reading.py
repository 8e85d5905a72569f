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

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol, TypeGuard

import numpy as np
import orjson

from kernels.races.detector.detector import Detector
from kernels.races.detector.race import Problem
from kernels.substrate.collector import Touch
from kernels.substrate.columns import GENERATIONS, BufferFacts, Tables
from kernels.substrate.trace import HostStep, Operation

FORMATS = ("kvrace-trace/1",)

Row = dict[str, Any]

_INTEGERS = 1 << 63


class _Misfit(Exception):
    """This row cannot be understood. Never leaves this module."""


def judge_lines(lines: Iterable[bytes], detector: Detector | None = None) -> Detector:
    """Judge a stored trace. Reads to the end, or to the first line that breaks it.

    Returns: a detector whose `problems` name line and reason where the trace is truncated or foreign.
    """
    judge = detector if detector is not None else Detector(first_row=2)
    problem = read_lines(lines, judge)
    if problem is not None:
        judge.give_up(*problem)
    return judge


def read_lines(lines: Iterable[bytes], target: TakesRows) -> Problem | None:
    """Feed a stored trace to whoever takes rows. Returns: line and reason where it is truncated or foreign."""
    reader = _Reader(target)
    number = 0
    for number, line in enumerate(lines, start=1):
        try:
            reader.row(line)
        except _Misfit as misfit:
            return Problem(number, str(misfit))
    if not reader.is_over:
        return Problem(number + 1, "the trace ends without its closing row: it is truncated")
    return None


class TakesRows(Protocol):
    """A detector, or a writer of the other format."""

    @property
    def tables(self) -> Tables: ...

    def declare(self, facts: BufferFacts) -> None: ...

    def operation(self, operation: Operation) -> None: ...

    def touching(self, operation: Operation, touches: Sequence[Touch], *, by_host: bool = False) -> None: ...

    def host(self, step: HostStep) -> None: ...

    def stale_row(self, row: Row) -> None: ...


class _Reader:
    """What was seen so far of one file, and what each kind of row means."""

    def __init__(self, target: TakesRows) -> None:
        self.is_over = False
        self._target = target
        self._row_count = 0
        self._by_bytes: dict[str, bool] = {}
        self._page_lists: dict[tuple[tuple[int, int], ...], int] = {}
        self._kinds: dict[str, Callable[[Row], None]] = {
            "buffer": self._buffer,
            "copy": self._memory,
            "kernel": self._memory,
            "record": self._event,
            "wait": self._event,
            "touch": self._touch,
            "alloc": self._lifetime,
            "free": self._lifetime,
            "stale": self._target.stale_row,
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
        name, by_bytes = _text(row, "name"), "bytes" in row
        self._by_bytes[name] = by_bytes
        page_bytes = row.get("page_bytes", 0)
        if by_bytes:
            size = (1, 0, 0, _integer(row, "bytes"))
        else:
            size = (_integer(row, "layers"), _integer(row, "pages"), page_bytes if _is_integer(page_bytes) else 0, 0)
        self._target.declare(BufferFacts(name, str(row.get("space", "")), *size))

    def _memory(self, row: Row) -> None:
        self._target.touching(_operation(row), self._touches(row))

    def _event(self, row: Row) -> None:
        operation = _operation(row)
        operation.event, operation.generation = _text(row, "event"), _generation(row)
        self._target.operation(operation)

    def _touch(self, row: Row) -> None:
        self._target.touching(_host_operation(row), self._touches(row), by_host=True)

    def _lifetime(self, row: Row) -> None:
        whole = self._touches({"accesses": [{**row, "mode": "write"}]})
        if "stream" in row:
            operation = _operation({**row, "row": "kernel", "label": row["row"], "issue": row.get("time")})
            self._target.touching(operation, whole)
        else:
            self._target.touching(_host_operation({"label": row["row"], **row}), whole, by_host=True)

    def _host(self, row: Row) -> None:
        wakes = row.get("wakes", [])
        if not isinstance(wakes, list) or not all(_is_integer(number) for number in wakes):
            raise _Misfit("'wakes' must be a list of integers")
        if row["row"] == "wake" and not wakes:
            raise _Misfit("a wake has no number")
        step = HostStep(
            row["row"],
            _text(row, "thread"),
            _integer(row, "time"),
            event=str(row.get("event", "")),
            generation=_generation(row) if "generation" in row else 0,
            other=str(row.get("other", "")),
            answer=bool(row.get("answer", True)),
            wakes=tuple(wakes),
            issued=_integer(row, "issued"),
        )
        self._target.host(step)

    def _touches(self, row: Row) -> list[Touch]:
        accesses = row.get("accesses")
        if not isinstance(accesses, list):
            raise _Misfit("'accesses' is missing or is no list: every operation declares what it touches")
        touches: list[Touch] = []
        for access in accesses:
            if not isinstance(access, dict) or access.get("mode") not in ("read", "write"):
                raise _Misfit(f"an access has no mode 'read' or 'write': {access}")
            layers = access.get("layers", [0])
            if not isinstance(layers, list) or not layers or not all(_is_integer(layer) for layer in layers):
                raise _Misfit(f"an access has no list of layers: {access}")
            buffer = _text(access, "buffer")
            pages = self._page_list(access, buffer)
            touches.append(Touch(access["mode"] == "write", buffer, tuple(layers), pages))
        return touches

    def _page_list(self, access: Row, buffer: str) -> int:
        by = "bytes" if "bytes" in access else "pages"
        intervals = _intervals(access, by)
        if self._by_bytes.get(buffer, by == "bytes") != (by == "bytes"):
            raise _Misfit(f"{buffer} was not declared to be accessed by {by}: {access}")
        number = self._page_lists.get(intervals)
        if number is None:
            bounds = np.array(intervals, np.int64).reshape(-1, 2)
            number = self._page_lists[intervals] = self._target.tables.page_lists.add(bounds)
        return number


def _operation(row: Row) -> Operation:
    layer, sites = row.get("layer"), row.get("access_sites", ())
    return Operation(
        _integer(row, "op"),
        row["row"],
        _text(row, "stream"),
        _text(row, "thread"),
        _text(row, "label"),
        _integer(row, "issue"),
        point=str(row.get("point", "")),
        layer=layer if _is_integer(layer) else None,
        delay_ns=_integer(row, "delay") if "delay" in row else 0,
        io=str(row.get("io", "")),
        start_ns=_integer(row, "start") if "start" in row else -1,
        end_ns=_integer(row, "end") if "end" in row else -1,
        site=str(row.get("site", "")),
        access_sites=tuple(map(str, sites)) if isinstance(sites, list) else (),
    )


def host_lane(thread: str) -> str:
    """The lane of what a host thread itself reads and writes."""
    return f"host {thread}"


def _host_operation(row: Row) -> Operation:
    thread, time_ns = _text(row, "thread"), _integer(row, "time")
    # Its number says where it stands in the thread's program: behind what the thread learnt before it was issued.
    operation = Operation(_integer(row, "op"), "kernel", host_lane(thread), thread, _text(row, "label"), time_ns)
    operation.start_ns = operation.end_ns = time_ns
    operation.site = str(row.get("site", ""))
    return operation


def _intervals(access: Row, name: str) -> tuple[tuple[int, int], ...]:
    listed = access.get(name)
    if not isinstance(listed, list):
        raise _Misfit(f"an access has neither 'pages' nor 'bytes': {access}")
    for pair in listed:
        is_pair = isinstance(pair, list) and len(pair) == 2 and all(_is_integer(edge) for edge in pair)
        if not is_pair or not 0 <= pair[0] <= pair[1]:
            raise _Misfit(f"{pair} is no half-open interval of {name}")
    return tuple([(begin, end) for begin, end in listed if begin < end])


def _text(row: Row, name: str) -> str:
    value = row.get(name)
    if not isinstance(value, str):
        raise _Misfit(f"'{name}' is missing or is no text")
    return value


def _integer(row: Row, name: str) -> int:
    value = row.get(name)
    if not _is_integer(value):
        raise _Misfit(f"'{name}' is missing or is no integer of 64 bits")
    return value


def _is_integer(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and -_INTEGERS <= value < _INTEGERS


def _generation(row: Row) -> int:
    generation = _integer(row, "generation")
    if not 0 <= generation < GENERATIONS:
        raise _Misfit(f"'generation' must be 0 to {GENERATIONS - 1}, not {generation}")
    return generation
