"""Slides of the race itself: which layers read too early, by how much, and when that turns an answer.

Owns: their layout. Does not own: the evidence (`results.frames.stale_read_frame`). Floor 3. Source: ours.
"""

from __future__ import annotations

import pandas as pd
from matplotlib.ticker import MaxNLocator

from results.report.parts import Report, State
from results.report.slides.picture import STATES, Picture, canvas, caption, nothing, title

_NO_EVIDENCE = "No stale read was recorded: the run had none, or its server does not tell."
_WIDTH = 0.4


def lateness(reads: pd.DataFrame) -> Picture:
    """How long before its bytes arrived each recorded stale read took place, by layer."""
    known = reads[reads["late_us"] >= 0]
    if known.empty:
        return nothing(_NO_EVIDENCE)
    figure, (axes,) = canvas(9.0, 4.0)
    for state in (State.SOUND, State.CORRUPTED):
        colour, marker, name = STATES[state]
        shown = known[known["is_corrupted"] == (state is State.CORRUPTED)]
        axes.plot(shown["layer"], shown["late_us"], marker, color=colour, linestyle="none", markersize=6, alpha=0.75,
                  label=f"{name} turn ({len(shown):,} reads)", clip_on=False)  # fmt: skip
    axes.set_xlabel("layer")
    axes.set_ylabel("read before its bytes arrived, us")
    axes.set_ylim(bottom=0)
    axes.legend(frameon=False, fontsize=9)
    title(axes, f"The race window of {', '.join(sorted(known['pool'].unique()))}")
    caption(figure, f"{len(known):,} recorded stale reads of {known.groupby(['session', 'turn']).ngroups:,} turns; a "
                    "turn keeps a sample of its reads.")  # fmt: skip
    return Picture(figure)


def stale_layers(report: Report) -> Picture:
    """Turns with stale reads by the number of layers that had them: how many were right all the same."""
    points = [point for run in report.runs if run.arm == report.focus for point in run.points]
    struck = [point for point in points if point.stale_layers and point.state is not State.UNKNOWN]
    if not struck:
        return nothing(_NO_EVIDENCE)
    figure, (axes,) = canvas(9.0, 3.6)
    layers = sorted({point.stale_layers for point in struck if point.stale_layers})
    below = [0] * len(layers)
    for state, hatch in ((State.SOUND, ""), (State.CORRUPTED, "//")):
        counts = [sum(point.stale_layers == layer and point.state is state for point in struck) for layer in layers]
        colour, _, name = STATES[state]
        axes.bar(layers, counts, 2 * _WIDTH, bottom=below, color=colour, hatch=hatch, edgecolor="white",
                 label=f"{name} ({sum(counts):,})")  # fmt: skip
        below = [one + other for one, other in zip(below, counts, strict=True)]
    axes.set_xlabel("layers of the prefill that read stale pages")
    axes.set_ylabel("turns")
    axes.yaxis.set_major_locator(MaxNLocator(integer=True))
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.legend(frameon=False, fontsize=9)
    title(axes, "What became of turns with stale reads")
    trend = next((bins.trend for bins in report.bins if bins.name == "stale"), None)
    caption(figure, f"{report.focus}: {len(struck):,} turns with stale reads. {trend or ''}")
    return Picture(figure)
