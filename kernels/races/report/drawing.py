"""A diagram in pixels: lanes become columns, time runs down, and each moment takes one row.

Owns: geometry. Does not own: what is drawn (`diagram`), colours (the page's style). Floor 2b.

Time is drawn by rank, not to scale: a load of a millisecond and a wait of a microsecond both stay readable, and what
matters is what came before what. The numbers in the margin are the times themselves.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from kernels.races.report.diagram import Arrow, Bar, Diagram, Kind

NANOSECONDS = "ns"
_MARGIN = {NANOSECONDS: "us"}
GUTTER = 78
ROW = 36
BAR_HEIGHT = 26
HEAD = 46
LANE_MIN, LANE_MAX = 224, 342
WIDTH = 1_104
SHRUNK_MIN = 200
"""A narrow window shrinks a picture until a lane is this wide; then it scrolls."""
INSET = 0.13
"""Of a lane's width, on both sides of its bars: room for arrows."""
INDENT = 12
"""Of orders and folds, against copies and kernels."""
_CHARACTER = 6.9


class Box(NamedTuple):
    """A bar where it is drawn. text: cut to fit."""

    bar: Bar
    x: float
    y: float
    width: float
    height: float
    text: str

    @property
    def middle(self) -> float:
        return self.x + self.width / 2


class Curve(NamedTuple):
    """An arrow where it is drawn; (x, y): where its words go."""

    arrow: Arrow
    path: str
    x: float
    y: float


class Column(NamedTuple):
    name: str
    text: str
    x: float
    width: float
    is_host: bool


class Tick(NamedTuple):
    """A time in the margin."""

    text: str
    y: float


class Drawing(NamedTuple):
    """Everything with its place."""

    width: float
    width_min: float
    head: float
    height: float
    columns: tuple[Column, ...]
    ticks: tuple[Tick, ...]
    boxes: tuple[Box, ...]
    curves: tuple[Curve, ...]
    hidden: str
    unit: str


_RowKey = tuple[int, int, int]


def drawn(diagram: Diagram, unit: str) -> Drawing:
    """Lay a diagram out. unit: of its times."""
    width = min(LANE_MAX, max(LANE_MIN, (WIDTH - GUTTER) / len(diagram.lanes)))
    place = {name: GUTTER + index * width for index, name in enumerate(diagram.lanes)}
    keys, rows = _rows(diagram.bars)
    boxes = [_box(bar, place[bar.lane], width, keys[bar.key], rows) for bar in diagram.bars]
    by_key = {box.bar.key: box for box in boxes}
    curves = [
        _curve(arrow, by_key[arrow.source], by_key[arrow.target])
        for arrow in diagram.arrows
        if arrow.source in by_key and arrow.target in by_key
    ]
    columns = tuple(
        Column(name, _cut(name, width - 2 * INDENT), place[name], width, index < diagram.host_count)
        for index, name in enumerate(diagram.lanes)
    )
    height = HEAD + (len(rows) + 0.4) * ROW
    total = GUTTER + len(diagram.lanes) * width
    least = min(total, GUTTER + len(diagram.lanes) * SHRUNK_MIN)
    return Drawing(
        total,
        least,
        HEAD,
        height,
        columns,
        tuple(_ticks(rows, unit)),
        tuple(boxes),
        tuple(curves),
        diagram.hidden,
        _MARGIN.get(unit, unit),
    )


def _rows(bars: Sequence[Bar]) -> tuple[dict[str, tuple[_RowKey, _RowKey]], dict[_RowKey, int]]:
    """Which rows each bar fills. Bars of one lane never share a row; bars of two lanes do, at one time.

    What ends at a time comes before what begins then.
    """
    keys: dict[str, tuple[_RowKey, _RowKey]] = {}
    taken: dict[tuple[str, int, int], int] = {}
    for bar in bars:
        spot = (bar.lane, bar.begin, bar.phase)
        count = taken[spot] = taken.get(spot, -1) + 1
        begin = (bar.begin, bar.phase, count)
        keys[bar.key] = (begin, (bar.end, 0, 0) if bar.end > bar.begin else begin)
    ordered = sorted({key for pair in keys.values() for key in pair})
    return keys, {key: index for index, key in enumerate(ordered)}


def _box(bar: Bar, x: float, width: float, keys: tuple[_RowKey, _RowKey], rows: dict[_RowKey, int]) -> Box:
    begin, end = rows[keys[0]], rows[keys[1]]
    inset = width * INSET + (INDENT if bar.kind in (Kind.RECORD, Kind.WAIT, Kind.HOST, Kind.ADDED, Kind.FOLD) else 0)
    y = HEAD + begin * ROW + (ROW - BAR_HEIGHT) / 2
    height = (end - begin) * ROW + BAR_HEIGHT
    inner = width - 2 * inset
    return Box(bar, x + inset, y, inner, height, _cut(bar.text, inner - (len(bar.role) + 3) * _CHARACTER))


def _curve(arrow: Arrow, source: Box, target: Box) -> Curve:
    """Leaves a bar at the side that faces the other one, at its end, and meets the other at its beginning."""
    is_rightward = source.middle <= target.middle
    x1 = source.x + source.width if is_rightward else source.x
    x2 = target.x if is_rightward else target.x + target.width
    y1 = source.y + source.height - BAR_HEIGHT / 2
    y2 = target.y + BAR_HEIGHT / 2
    if source.bar.lane == target.bar.lane:
        x1 = x2 = source.x + source.width
    pull = max(26.0, abs(x2 - x1) * 0.45)
    turn = pull if is_rightward else -pull
    path = f"M{x1:.1f},{y1:.1f} C{x1 + turn:.1f},{y1:.1f} {x2 - turn:.1f},{y2:.1f} {x2:.1f},{y2:.1f}"
    return Curve(arrow, path, (x1 + x2) / 2, (y1 + y2) / 2)


def _ticks(rows: dict[_RowKey, int], unit: str) -> list[Tick]:
    """Steps as they are; nanoseconds as microseconds from the first row on, because they are long numbers."""
    first = min(rows)[0]
    ticks: list[Tick] = []
    known: set[int] = set()
    for (time, _, _), row in rows.items():
        if time not in known:
            known.add(time)
            text = f"{(time - first) / 1_000:,.2f}" if unit == NANOSECONDS else f"{time:,}"
            ticks.append(Tick(text, HEAD + (row + 0.5) * ROW))
    return ticks


def _cut(text: str, width: float) -> str:
    """A text that fits, by its middle: names differ at both ends."""
    room = int(width / _CHARACTER)
    if len(text) <= room:
        return text
    left = (room - 1) * 2 // 3
    return f"{text[:left]}…{text[len(text) - (room - 1 - left) :]}"
