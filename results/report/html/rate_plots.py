"""Figures of rates: forest plot of arms and kinds, the share of corrupted turns over a quantity, depth in the reply.

Owns: their layout. A rate is a mark with its interval; where nothing was found the mark is hollow. Does not own: the
rates (`parts`). Floor 3. Source: ours.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from results.report.html.marks import Box, Key, Label, Mark, Plot, Symbol, Tick, bar
from results.report.html.scales import Scale, rate_top
from results.report.parts import Bin, Bins, Rate, State, TurnPoint
from results.report.rates import ceiling
from results.report.ticks import round_step, short
from results.report.words import percent, percent_interval

WIDE, HALF = 1040.0, 508.0
_ROW = 34.0
_FOREST_LEFT, _FOREST_RIGHT = 236.0, 262.0
_BOTTOM, _TOP = 52.0, 14.0
_BINNED_HEIGHT = 232.0
_LEFT, _RIGHT = 58.0, 14.0
_BARS_MAX = 16
_FOUND, _NONE = "bad", "ok"


@dataclass(frozen=True, slots=True)
class ForestRow:
    """label: at the left. behind: the seeds' own rates."""

    label: str
    rate: Rate
    behind: Sequence[float] = ()


def forest(name: str, title: str, x_label: str, rows: Sequence[ForestRow]) -> Plot:
    """A row a rate, with its interval and, at the right, the same in figures."""
    height = _TOP + _ROW * len(rows) + _BOTTOM
    top_rate = rate_top(max((max(row.rate.high, *row.behind, 0.0) for row in rows if row.rate.units), default=0.0))
    x = Scale(0.0, top_rate, _FOREST_LEFT, WIDE - _FOREST_RIGHT)
    marks: list[Mark] = []
    for place, row in enumerate(rows):
        y = _TOP + _ROW * (place + 0.5)
        marks.append(Label(_FOREST_LEFT - 12, y + 4, _shortened(row.label, 32), "rowname", "end"))
        marks += [bar((x(seed), y - 9), (x(seed), y + 9), "behind", 0) for seed in row.behind]
        marks += _rate_marks(row.rate, x, y)
        marks.append(Label(WIDE - _FOREST_RIGHT + 16, y + 4, in_figures(row.rate), "figures"))
    return Plot(
        name=name,
        title=title,
        description="; ".join(f"{row.label}: {in_figures(row.rate)}" for row in rows),
        width=WIDE,
        height=height,
        left=_FOREST_LEFT,
        right=WIDE - _FOREST_RIGHT,
        top=_TOP,
        bottom=height - _BOTTOM,
        x_ticks=x.percents(8),
        x_label=x_label,
        grid="x",
        marks=tuple(marks),
        keys=(Key("dot", _FOUND, "corruption found"), Key("ring", _NONE, "none found: the bar is what stays open"))
        + ((Key("tick", "behind", "one seed"),) if any(row.behind for row in rows) else ()),
    )


def binned(bins: Bins) -> Plot:
    """The share of corrupted turns in each bin, with its interval and the number of turns under it."""
    shown = [one for one in bins.bins if one.turns.units]
    y = Scale(0.0, rate_top(ceiling([one.turns for one in shown])), _BINNED_HEIGHT - _BOTTOM, _TOP)
    is_time = bins.name == "time"
    x = Scale(bins.bins[0].low, bins.bins[-1].high, _LEFT, HALF - _RIGHT)
    step = (HALF - _RIGHT - _LEFT) / len(bins.bins)
    marks: list[Mark] = []
    x_ticks = []
    for place, one in enumerate(bins.bins):
        at = x((one.low + one.high) / 2) if is_time else _LEFT + step * (place + 0.5)
        if not is_time:
            x_ticks += _bin_ticks(one, at, step, is_last=place == len(bins.bins) - 1)
        if not one.turns.units:
            continue
        css = _FOUND if one.turns.events else _NONE
        marks += _whisker(one.turns, at, y, f"{css} whisker")
        title = f"{one.label}: {in_figures(one.turns)}"
        marks.append(Symbol(at, y(one.turns.rate or 0.0), "dot" if one.turns.events else "ring", css, title))
    return Plot(
        name=bins.name,
        title=bins.title,
        description=f"Share of corrupted turns by {bins.x_label}. " + "; ".join(
            f"{one.label}: {in_figures(one.turns)}" for one in shown
        ),
        width=HALF,
        height=_BINNED_HEIGHT,
        left=_LEFT,
        right=HALF - _RIGHT,
        top=_TOP,
        bottom=_BINNED_HEIGHT - _BOTTOM,
        x_ticks=x.ticks(8) if is_time else tuple(x_ticks),
        y_ticks=y.percents(5),
        x_label=bins.x_label,
        y_label="corrupted turns",
        marks=tuple(marks),
    )  # fmt: skip


def first_wrong(points: Sequence[TurnPoint]) -> Plot | None:
    """How many corrupted replies part from the planted call at which character; None where none is corrupted."""
    places = [point.wrong_at for point in points if point.state is State.CORRUPTED and point.wrong_at is not None]
    if not places:
        return None
    step = max(1, int(round_step((max(places) + 1) / _BARS_MAX)))
    counts = [0] * max(_BARS_MAX, max(places) // step + 1)
    for place in places:
        counts[place // step] += 1
    x = Scale(0.0, float(step * len(counts)), _LEFT, HALF - _RIGHT)
    y = Scale(0.0, max(counts) * 1.1, _BINNED_HEIGHT - _BOTTOM, _TOP)
    whole = tuple(tick for tick in y.ticks(5) if "." not in tick.text)
    boxes = [
        Box(x(place * step) + 1, y(count), max(1.0, x(step) - x(0) - 2), y(0) - y(count), _FOUND,
            f"characters {place * step} to {(place + 1) * step - 1}: {count} replies")
        for place, count in enumerate(counts)
        if count
    ]  # fmt: skip
    return Plot(
        name="reply",
        title="How deep in the reply",
        description=f"First wrong character of {len(places)} corrupted replies, between {min(places)} and "
        f"{max(places)}.",
        width=HALF,
        height=_BINNED_HEIGHT,
        left=_LEFT,
        right=HALF - _RIGHT,
        top=_TOP,
        bottom=_BINNED_HEIGHT - _BOTTOM,
        x_ticks=x.ticks(8),
        y_ticks=whole,
        x_label="first character that is not of the planted call (0: the very first)",
        y_label="corrupted turns",
        marks=tuple(boxes),
    )


def in_figures(rate: Rate) -> str:
    """`7 of 60  11.7 %  (4.8-22.6 %)`."""
    if rate.rate is None:
        return "nothing could be judged"
    return f"{rate.events:,} of {rate.units:,}: {percent(rate.rate)} ({percent_interval(rate.low, rate.high)})"


def _rate_marks(rate: Rate, x: Scale, y: float) -> list[Mark]:
    if rate.rate is None:
        return []
    css, shape = (_FOUND, "dot") if rate.events else (_NONE, "ring")
    ends = (x(rate.low), y), (x(rate.high), y)
    return [bar(*ends, f"{css} whisker", 5), Symbol(x(rate.rate), y, shape, css, in_figures(rate))]


def _whisker(rate: Rate, at: float, y: Scale, css: str) -> list[Mark]:
    """A bar that leaves the frame has no cap at its upper end."""
    if rate.high <= y.high:
        return [bar((at, y(rate.low)), (at, y(rate.high)), css)]
    return [bar((at, y(rate.low)), (at, y(y.high)), css, 0), bar((at, y(rate.low)), (at, y(rate.low)), css)]


def _bin_ticks(one: Bin, at: float, step: float, *, is_last: bool) -> list[Tick]:
    """A bin of one value has its tick in the middle; any other has ticks at its ends."""
    if " " not in one.label:
        return [Tick(at, one.label)]
    begin, end = Tick(at - step / 2, _three_digits(one.low)), Tick(at + step / 2, _three_digits(one.high))
    return [begin, end] if is_last else [begin]


def _three_digits(value: float) -> str:
    return short(float(f"{value:.3g}"))


def _shortened(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"
