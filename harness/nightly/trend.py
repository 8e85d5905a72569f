"""The trend over nights: corrupted sessions of each arm, and the time of the main command.

Owns: which nights and series are drawn. Does not own: drawing (`results.report.plots`). Floor 5.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from harness.nightly.history import NightRow

if TYPE_CHECKING:
    from results.report.plots import Series

RATES, TIMES = "trend.svg", "trend-time.svg"
NIGHTS_MAX = 60


def draw_trend(folder: Path, rows: Sequence[NightRow]) -> list[Path]:
    """Draw what there is to draw. Effect: writes up to two figures. Returns: their paths. Raises: StorageProblem."""
    # Drawing loads matplotlib, which costs more than everything that a refused command does.
    from results.report.plots import SERIES_MAX, Series, plot_sweep

    shown = list(enumerate(rows, start=1))[-NIGHTS_MAX:]
    caption = f"{_count(len(shown))}; 95 % intervals over seeds; night 1 is {rows[0].night}" if rows else ""
    arms = list(dict.fromkeys(arm for _, row in shown for arm in row.arms))[:SERIES_MAX]
    rates = [series for arm in arms if (series := _rates(arm, shown)).x]
    drawn = []
    if rates:
        path = folder / RATES
        plot_sweep(path, rates, title="Corrupted sessions by night", x_label="night", y_label="corrupted sessions",
                   caption=caption)  # fmt: skip
        drawn.append(path)
    timed = [(x, row) for x, row in shown if row.ratio is not None]
    if timed:
        path = folder / TIMES
        series = Series(
            "main command",
            [float(x) for x, _ in timed],
            [row.ratio or 0.0 for _, row in timed],
            [min(row.ratios) for _, row in timed],
            [max(row.ratios) for _, row in timed],
        )
        plot_sweep(path, [series], title="Time of the main command by night", x_label="night",
                   y_label="yardsticks", caption=f"{_count(len(shown))}; median, lowest and highest of each night",
                   is_rate=False)  # fmt: skip
        drawn.append(path)
    return drawn


def _rates(arm: str, shown: Sequence[tuple[int, NightRow]]) -> Series:
    from results.report.plots import Series

    x, y, low, high = [], [], [], []
    for number, row in shown:
        found = row.arms.get(arm)
        if found is not None and found.rate is not None:
            x.append(float(number))
            y.append(found.rate)
            low.append(found.rate if found.low is None else found.low)
            high.append(found.rate if found.high is None else found.high)
    return Series(arm, x, y, low, high)


def _count(nights: int) -> str:
    return "1 night" if nights == 1 else f"{nights} nights"
