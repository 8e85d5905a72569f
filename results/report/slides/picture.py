"""A figure that a notebook shows by itself, and the look that all of them share.

Owns: size, fonts, the three colours of a turn's state, and drawing without pyplot, which would keep state. Does not
own: what is drawn. Floor 3. Source: palette of `results.report.plots`; the display protocol is IPython's `_repr_png_`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from results import layout
from results.report.parts import State
from results.report.plots import COLOURS, MARKERS

DPI = 130
STATES: Mapping[State, tuple[str, str, str]] = {
    State.SOUND: (COLOURS[0], "o", "sound"),
    State.CORRUPTED: (COLOURS[1], "X", "corrupted"),
    State.UNKNOWN: ("#777777", "s", "could not be judged"),
}
"""Colour, marker and name; the marker alone tells them apart, too."""
ARM_COLOURS, ARM_MARKERS = COLOURS, MARKERS


@dataclass(frozen=True, slots=True, eq=False)
class Picture:
    """A drawn figure. A notebook shows it where it is the last thing of a cell."""

    figure: Figure

    def _repr_png_(self) -> bytes:
        content = BytesIO()
        self.figure.savefig(content, format="png", dpi=DPI)
        return content.getvalue()

    def save(self, path: Path) -> Path:
        """Effect: writes `path` in one step, in the format of its suffix."""
        layout.replace_file(path, lambda beside: self.figure.savefig(beside, format=path.suffix.lstrip("."), dpi=200))
        return path


def canvas(width: float, height: float, *, rows: int = 1, columns: int = 1, share_x: bool = False) -> tuple[
    Figure, list[Axes]
]:  # fmt: skip
    """A figure in inches with its axes in reading order."""
    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    grid = figure.subplots(rows, columns, squeeze=False, sharex=share_x)
    axes = [one for row in grid for one in row]
    for one in axes:
        one.spines[["top", "right"]].set_visible(False)
        one.grid(axis="y", color="#dddddd", linewidth=0.7)
        one.set_axisbelow(True)
    return figure, axes


def caption(figure: Figure, text: str) -> None:
    """What the bars are, and over how many units, under the figure."""
    figure.supxlabel(text, fontsize=8, color="#555555", x=0.01, ha="left")


def title(axes: Axes, text: str) -> None:
    axes.set_title(text, loc="left", fontsize=11, fontweight="bold")


def percent_axis(axes: Axes, *, along: str) -> None:
    """Shares as percents, from zero."""
    axis = axes.xaxis if along == "x" else axes.yaxis
    axis.set_major_formatter(FuncFormatter(lambda share, _: f"{100 * share:g} %"))
    if along == "x":
        axes.set_xlim(left=0)
    else:
        axes.set_ylim(bottom=0)


def nothing(text: str) -> Picture:
    """A figure that says why there is none, so that a notebook runs on any stored run."""
    figure, (axes,) = canvas(8.0, 1.2)
    axes.set_axis_off()
    axes.text(0.0, 0.5, text, fontsize=11, color="#555555", va="center")
    return Picture(figure)
