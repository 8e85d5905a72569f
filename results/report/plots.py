"""Figures of sweeps: lines with their intervals.

Owns: the look. Colours can be told apart with any colour vision, and each line has its own marker and dash besides.
Draws without a display and without global state. Floor 3.
Source: palette by Okabe and Ito (2008), https://jfly.uni-koeln.de/color/; drawn by matplotlib's Agg.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter
from matplotlib.transforms import ScaledTranslation, Transform

from results import layout

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
_DASHES = ("-", "--", "-.", ":", (0, (5, 1)), (0, (3, 1, 1, 1)), (0, (1, 1)))
_SHIFT_POINTS = 4.0
_TICKS_MAX = 9
SERIES_MAX = len(COLOURS)


@dataclass(frozen=True, slots=True)
class Series:
    """One line: y over x with the interval [low, high] at each point. All four have the same length."""

    label: str
    x: Sequence[float]
    y: Sequence[float]
    low: Sequence[float]
    high: Sequence[float]


def plot_sweep(
    path: Path,
    series: Sequence[Series],
    *,
    title: str,
    x_label: str,
    y_label: str,
    caption: str = "",
    is_rate: bool = True,
    log_x: bool = False,
    target: tuple[float, float] | None = None,
    target_label: str = "reported in the incident",
) -> None:
    """Draw lines with error bars into a PNG or SVG.

    Effect: writes `path` in one step.
    Args:
        x_label, y_label: with their units. caption: what the bars are (method, n), under the figure.
        is_rate: y is a share, shown in percent from zero. target: a band of y to compare with, and its name.
    """
    assert 0 < len(series) <= SERIES_MAX, f"a figure with {len(series)} lines cannot be read"
    figure = Figure(figsize=(8.0, 4.3), dpi=150, layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    if target is not None:
        axes.axhspan(*target, color="#999999", alpha=0.2, linewidth=0, label=target_label)
    for number, line in enumerate(series):
        # Lines that meet are set a little apart, so that one does not hide the bars of another.
        axes.update_datalim([*zip(line.x, line.low, strict=True), *zip(line.x, line.high, strict=True)])
        apart_inches = _SHIFT_POINTS / 72 * (number - (len(series) - 1) / 2)
        _draw(axes, line, number, axes.transData + ScaledTranslation(apart_inches, 0, figure.dpi_scale_trans))
    _label(axes, title=title, x_label=x_label, y_label=y_label, is_rate=is_rate, log_x=log_x)
    _tick_where_measured(axes, sorted({x for line in series for x in line.x}))
    if len(series) > 1 or target is not None:
        figure.legend(loc="outside right upper", frameon=False, fontsize=9)
    if caption:
        figure.supxlabel(caption, fontsize=8, color="#555555", x=0.01, ha="left")
    layout.replace_file(path, lambda beside: figure.savefig(beside, format=path.suffix.lstrip(".")))


def _draw(axes: Axes, line: Series, number: int, place: Transform) -> None:
    assert len(line.x) == len(line.y) == len(line.low) == len(line.high), f"{line.label}: lengths differ"
    below = [max(0.0, y - low) for y, low in zip(line.y, line.low, strict=True)]
    above = [max(0.0, high - y) for y, high in zip(line.y, line.high, strict=True)]
    axes.errorbar(
        line.x,
        line.y,
        yerr=[below, above],
        label=line.label,
        color=COLOURS[number],
        marker=MARKERS[number],
        linestyle=_DASHES[number],
        markersize=5,
        linewidth=1.6,
        elinewidth=1.1,
        capsize=3,
        clip_on=False,
        transform=place,
    )


def _label(axes: Axes, *, title: str, x_label: str, y_label: str, is_rate: bool, log_x: bool) -> None:
    axes.set_title(title, loc="left", fontsize=11, fontweight="bold")
    axes.set_xlabel(x_label)
    axes.set_ylabel(y_label)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", color="#dddddd", linewidth=0.7)
    axes.set_axisbelow(True)
    if log_x:
        axes.set_xscale("log")
    axes.autoscale_view()
    if is_rate:
        axes.set_ylim(bottom=0)
        axes.yaxis.set_major_formatter(FuncFormatter(lambda share, _: f"{100 * share:g} %"))


def _tick_where_measured(axes: Axes, measured: Sequence[float]) -> None:
    """Few points get a tick each, so that a line which was set apart can still be read off."""
    if len(measured) <= _TICKS_MAX:
        axes.set_xticks(measured, labels=[f"{x:,g}" for x in measured])
        axes.minorticks_off()
