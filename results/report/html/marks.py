"""What a figure is made of, in pixels: marks, axes and the frame; `plot.html` draws them.

Owns: shapes and their classes. Colours are classes of `style.css`, so that one file serves light, dark and print.
Does not own: where data goes (`figures`). Floor 3. Source: ours.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Path:
    """An SVG path. A path of many dots is one element, which keeps ten thousand turns small."""

    d: str
    css: str
    tag: str = "path"


@dataclass(frozen=True, slots=True)
class Symbol:
    """A point with a shape of its own and a text that shows on hovering: `dot`, `cross`, `diamond`, `ring`."""

    x: float
    y: float
    shape: str
    css: str
    title: str
    tag: str = "symbol"


@dataclass(frozen=True, slots=True)
class Box:
    x: float
    y: float
    width: float
    height: float
    css: str
    title: str = ""
    tag: str = "box"


@dataclass(frozen=True, slots=True)
class Label:
    """anchor: start, middle or end."""

    x: float
    y: float
    text: str
    css: str = ""
    anchor: str = "start"
    tag: str = "label"


Mark = Path | Symbol | Box | Label


@dataclass(frozen=True, slots=True)
class Tick:
    at: float
    text: str


@dataclass(frozen=True, slots=True)
class Key:
    """One entry of a legend."""

    shape: str
    css: str
    text: str


@dataclass(frozen=True, slots=True)
class Plot:
    """One figure with its axes. title and description are what a screen reader says of it.

    left, right, top, bottom: the frame inside width x height. grid: lines at the ticks of x or y.
    """

    name: str
    title: str
    description: str
    width: float
    height: float
    left: float
    right: float
    top: float
    bottom: float
    x_ticks: tuple[Tick, ...] = ()
    y_ticks: tuple[Tick, ...] = ()
    x_label: str = ""
    y_label: str = ""
    grid: str = "y"
    marks: tuple[Mark, ...] = ()
    keys: tuple[Key, ...] = ()


def dots(places: Iterable[tuple[float, float]], css: str) -> Path:
    """Many dots as one path of strokes without length; round caps make them dots."""
    return Path("".join(f"M{x:.1f} {y:.1f}h0" for x, y in places), css)


def bar(low: tuple[float, float], high: tuple[float, float], css: str, cap: float = 4.0) -> Path:
    """An interval with caps, along x or along y."""
    (x1, y1), (x2, y2) = low, high
    dx, dy = (cap, 0.0) if x1 == x2 else (0.0, cap)
    ends = "".join(f"M{x - dx:.1f} {y - dy:.1f}L{x + dx:.1f} {y + dy:.1f}" for x, y in (low, high))
    return Path(f"M{x1:.1f} {y1:.1f}L{x2:.1f} {y2:.1f}{ends}", css)
