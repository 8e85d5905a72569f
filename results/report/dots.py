"""Figures of named rows: a mean with its interval on each, and the seeds behind it.

Owns: the layout of rows. Colours and markers are those of the line figures (`plots`). Floor 3. Source: ours.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from results import layout
from results.report.plots import COLOURS, MARKERS, SERIES_MAX

_ROW_INCHES = 0.34
_FRAME_INCHES = 1.5
_SPREAD = 0.5
"""Marks of one row lie within this share of its height."""


@dataclass(frozen=True, slots=True)
class Dot:
    """One mean with the interval [low, high]. behind: the values that it is the mean of, shown faintly."""

    value: float
    low: float
    high: float
    behind: Sequence[float] = ()


@dataclass(frozen=True, slots=True)
class DotRow:
    """One row: a dot for each series, None where there is nothing to show."""

    label: str
    dots: Sequence[Dot | None]


def plot_dots(
    path: Path,
    rows: Sequence[DotRow],
    *,
    title: str,
    x_label: str,
    series: Sequence[str] = ("",),
    caption: str = "",
    target: tuple[float, float] | None = None,
    target_label: str = "reported in the incident",
    reference: float | None = None,
    reference_label: str = "",
) -> None:
    """Draw rows of means into a PNG or SVG. Values are shares, shown in percent from zero.

    Effect: writes `path` in one step.
    Args:
        series: names of the dots of a row, shown where there are several. caption: what the bars are, under the figure.
        target: a band to compare with, and its name. reference: a line to compare with, and its name.
    """
    assert rows, "a figure needs a row"
    assert 0 < len(series) <= SERIES_MAX and all(len(row.dots) == len(series) for row in rows)
    figure = Figure(figsize=(8.0, _FRAME_INCHES + _ROW_INCHES * len(rows)), dpi=150, layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    if target is not None:
        axes.axvspan(*target, color="#999999", alpha=0.2, linewidth=0, label=target_label)
    if reference is not None:
        axes.axvline(reference, color="#555555", linewidth=1.0, linestyle="--", label=reference_label)
    for number, name in enumerate(series):
        apart = 0.0 if len(series) == 1 else _SPREAD * (number / (len(series) - 1) - 0.5)
        _draw(axes, [row.dots[number] for row in rows], number, name, apart)
    _label(axes, rows, title=title, x_label=x_label)
    if len(series) > 1 or target is not None or reference is not None:
        figure.legend(loc="outside upper right", ncols=len(series) + 2, frameon=False, fontsize=9)
    if caption:
        figure.supxlabel(caption, fontsize=8, color="#555555", x=0.01, ha="left")
    layout.replace_file(path, lambda beside: figure.savefig(beside, format=path.suffix.lstrip(".")))


def _draw(axes: Axes, dots: Sequence[Dot | None], number: int, name: str, apart: float) -> None:
    shown = [(row + apart, dot) for row, dot in enumerate(dots) if dot is not None]
    for height, dot in shown:
        axes.plot(dot.behind, [height] * len(dot.behind), "|", color=COLOURS[number], alpha=0.35, markersize=9)
    below = [max(0.0, dot.value - dot.low) for _, dot in shown]
    above = [max(0.0, dot.high - dot.value) for _, dot in shown]
    axes.errorbar(
        [dot.value for _, dot in shown],
        [height for height, _ in shown],
        xerr=[below, above],
        label=name or None,
        color=COLOURS[number],
        marker=MARKERS[number],
        linestyle="none",
        markersize=6,
        elinewidth=1.4,
        capsize=3,
        clip_on=False,
    )


def _label(axes: Axes, rows: Sequence[DotRow], *, title: str, x_label: str) -> None:
    axes.set_title(title, loc="left", fontsize=11, fontweight="bold")
    axes.set_xlabel(x_label)
    axes.set_yticks(range(len(rows)), labels=[row.label for row in rows])
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.set_xlim(left=0)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda share, _: f"{100 * share:g} %"))
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="x", color="#dddddd", linewidth=0.7)
    axes.set_axisbelow(True)
