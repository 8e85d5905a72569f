"""Slides of rates: arms, kinds, seeds in pairs, and the share of corrupted turns over a quantity.

Owns: their layout. Does not own: the rates (`results.report.parts`). Floor 3. Source: ours.
"""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes

from results.report.parts import ArmPart, Bins, Rate, Report, State
from results.report.rates import ceiling
from results.report.slides.picture import (
    ARM_COLOURS,
    ARM_MARKERS,
    STATES,
    Picture,
    canvas,
    caption,
    nothing,
    percent_axis,
    title,
)
from results.report.words import kind_words, percent, percent_interval

_FOUND, _NONE = STATES[State.CORRUPTED][0], STATES[State.SOUND][0]


def rates(report: Report) -> Picture:
    """Corrupted sessions of each arm; of a single run its sessions, its turns and each kind."""
    if report.is_matrix:
        rows = [(arm.name, arm.sessions, arm.seed_rates) for arm in report.arms]
        return _forest(rows, "Corrupted sessions by arm", "sessions corrupted", _units(report.arms))
    (arm,) = report.arms
    rows = [("sessions", arm.sessions, ()), ("turns", arm.turns, ())]
    rows += [(kind_words(row.kind) + " (turns)", row.turns, ()) for row in arm.kinds]
    return _forest(rows, f"Corruption in {report.title}", "corrupted", _units(report.arms))


def seeds(report: Report) -> Picture:
    """The session rate of each seed, a line a seed, so that arms are compared in pairs."""
    by_arm = {arm.name: {run.seed: run.session_rate for run in report.runs if run.arm == arm.name}
              for arm in report.arms}  # fmt: skip
    common = set.intersection(*(set(rates) for rates in by_arm.values())) if by_arm else set()
    if len(by_arm) < 2 or not common:
        return nothing("Arms with common seeds are needed to draw pairs.")
    figure, (axes,) = canvas(1.8 + 1.7 * len(by_arm), 4.2)
    for seed in sorted(common):
        values = [rates[seed] for rates in by_arm.values()]
        axes.plot(range(len(values)), [float("nan") if value is None else value for value in values],
                  color="#999999", linewidth=0.9, alpha=0.8, zorder=1)  # fmt: skip
    for place, (name, found) in enumerate(by_arm.items()):
        shown = [rate for seed, rate in found.items() if seed in common and rate is not None]
        axes.plot([place] * len(shown), shown, ARM_MARKERS[place % len(ARM_MARKERS)], label=name, markersize=6,
                  color=ARM_COLOURS[place % len(ARM_COLOURS)], zorder=2, clip_on=False)  # fmt: skip
    axes.set_xticks(range(len(by_arm)), labels=list(by_arm), rotation=20, ha="right")
    axes.set_xlim(-0.4, len(by_arm) - 0.6)
    axes.set_ylabel("sessions corrupted")
    percent_axis(axes, along="y")
    title(axes, "The same seeds in every arm")
    caption(figure, f"A line is one of {len(common)} seeds: the same workload, another arm.")
    return Picture(figure)


def over(report: Report, *names: str) -> Picture:
    """The share of corrupted turns over the named quantities: time, turn, context, load, loaded, stale."""
    chosen = [bins for name in names for bins in report.bins if bins.name == name]
    if not chosen:
        return nothing(f"No turn of this run tells its {' or '.join(names)}.")
    figure, panels = canvas(4.6 * len(chosen), 3.6, columns=len(chosen))
    for axes, bins in zip(panels, chosen, strict=True):
        _binned(axes, bins)
    judged = sum(one.turns.units for one in chosen[0].bins)
    bars = "bars are 95 % intervals that allow for sessions; hollow: none found"
    caption(figure, f"{report.focus}: {judged:,} judged turns; {bars}.")
    return Picture(figure)


def _forest(rows: Sequence[tuple[str, Rate, Sequence[float]]], heading: str, x_label: str, note: str) -> Picture:
    figure, (axes,) = canvas(8.6, 1.5 + 0.42 * len(rows))
    for place, (_, rate, behind) in enumerate(rows):
        axes.plot(behind, [place] * len(behind), "|", color="#777777", alpha=0.6, markersize=10)
        if rate.rate is None:
            axes.text(0.0, place, " nothing could be judged", va="center", fontsize=9, color="#555555")
            continue
        colour = _FOUND if rate.events else _NONE
        axes.errorbar(rate.rate, place, xerr=[[rate.rate - rate.low], [rate.high - rate.rate]], fmt="o", capsize=4,
                      color=colour, markerfacecolor=colour if rate.events else "white", clip_on=False)  # fmt: skip
        text = f"{rate.events:,} of {rate.units:,}: {percent(rate.rate)} ({percent_interval(rate.low, rate.high)})"
        axes.annotate(text, (1.01, place), xycoords=("axes fraction", "data"), va="center", fontsize=9)
    axes.set_yticks(range(len(rows)), labels=[name for name, _, _ in rows])
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.grid(axis="y", visible=False)
    axes.grid(axis="x", color="#dddddd", linewidth=0.7)
    axes.set_xlabel(x_label)
    percent_axis(axes, along="x")
    title(axes, heading)
    caption(figure, note)
    return Picture(figure)


def _units(arms: Sequence[ArmPart]) -> str:
    units = sorted({arm.unit for arm in arms})
    return f"Bars: 95 % intervals; independent unit: {'; '.join(units)}. Hollow: none found, the bar stays open."


def _binned(axes: Axes, bins: Bins) -> None:
    shown = [(place, one) for place, one in enumerate(bins.bins) if one.turns.rate is not None]
    for place, one in shown:
        rate = one.turns.rate or 0.0
        colour = _FOUND if one.turns.events else _NONE
        axes.errorbar(place, rate, yerr=[[rate - one.turns.low], [one.turns.high - rate]], capsize=3, color=colour)
        axes.plot(place, rate, "o", color=colour, markerfacecolor=colour if one.turns.events else "white",
                  clip_on=False, zorder=3)  # fmt: skip
    step = max(1, len(bins.bins) // 8)
    ticked = range(0, len(bins.bins), step)
    labels = [bins.bins[place].label.replace(" to under ", "-").replace(" to ", "-") for place in ticked]
    axes.set_xticks(list(ticked), labels=labels, rotation=30, ha="right", fontsize=8)
    axes.set_xlabel(bins.x_label)
    axes.set_ylabel("turns corrupted")
    percent_axis(axes, along="y")
    axes.set_ylim(0, max(0.05, 1.05 * ceiling([one.turns for one in bins.bins])))
    title(axes, bins.title)
