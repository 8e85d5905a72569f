"""Slides over the time of a run: latencies, load-backs, and how long sessions stay sound.

Owns: their layout. Does not own: the points (`results.report.points`), the curves (`results.stats.survival`).
Floor 3. Source: ours.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence

from results.report.parts import Report, RunPart, State, TurnPoint
from results.report.slides.picture import (
    ARM_COLOURS,
    STATES,
    Picture,
    canvas,
    caption,
    nothing,
    percent_axis,
    title,
)
from results.stats.survival import kaplan_meier

_LOG_FROM = 20.0
_DASHES = ("-", "--", "-.", ":")

Measure = Callable[[TurnPoint], float | None]
_PANELS: tuple[tuple[str, str, Measure], ...] = (
    ("Time to first token", "s", lambda point: point.ttft_s),
    ("Mean time between tokens", "ms", lambda point: point.itl_ms),
    ("Loaded back from the host tier", "tokens", lambda point: point.loaded_tokens or None),
)


def time_lines(report: Report) -> Picture:
    """Latencies and load-backs of the run with the most corruption, turn by turn."""
    run = _worst(report)
    panels = [] if run is None else [panel for panel in _PANELS if any(panel[2](point) for point in run.points)]
    if run is None or not panels:
        return nothing("No turn of this run has times to draw.")
    figure, axes = canvas(9.5, 0.9 + 1.7 * len(panels), rows=len(panels), share_x=True)
    for one, (name, unit, measure) in zip(axes, panels, strict=True):
        for state, (colour, marker, label) in STATES.items():
            shown = [(point.sent_s, value) for point in run.points
                     if point.state is state and (value := measure(point))]  # fmt: skip
            big = state is not State.SOUND
            if not any(point.state is state for point in run.points):
                continue
            one.plot([x for x, _ in shown], [y for _, y in shown], marker, color=colour, linestyle="none", label=label,
                     markersize=8 if big else 3.5, alpha=1.0 if big else 0.5, zorder=3 if big else 2)  # fmt: skip
        values = [value for point in run.points if (value := measure(point))]
        if max(values) / min(values) > _LOG_FROM and unit != "tokens":
            one.set_yscale("log")
        one.set_ylabel(unit)
        title(one, name)
    axes[-1].set_xlabel(f"{'virtual time' if run.times_are_virtual else 'time'} since the run's start, s")
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper right", ncols=3, frameon=False, fontsize=9)
    caption(figure, f"{run.arm}, seed {run.seed}: {len(run.points):,} turns of {run.sessions:,} sessions.")
    return Picture(figure)


def latencies(report: Report) -> Picture:
    """Do corrupted turns take longer? The share of turns that had their first token by then, by state."""
    points = [point for run in report.runs if run.arm == report.focus for point in run.points]
    known = [point for point in points if point.ttft_s is not None and point.state is not State.UNKNOWN]
    if not known:
        return nothing("No turn of this run has a first token.")
    figure, (axes,) = canvas(6.4, 3.8)
    for state in (State.SOUND, State.CORRUPTED):
        values = sorted(point.ttft_s for point in known if point.state is state and point.ttft_s is not None)
        if values:
            colour, marker, name = STATES[state]
            axes.step(values, [(place + 1) / len(values) for place in range(len(values))], where="post", color=colour,
                      label=f"{name} ({len(values):,})")  # fmt: skip
            axes.plot(values[-1], 1.0, marker, color=colour, clip_on=False)
    axes.set_xscale("log")
    axes.set_xlabel("time to first token, s (log)")
    axes.set_ylabel("share of turns")
    percent_axis(axes, along="y")
    axes.legend(frameon=False, fontsize=9, loc="lower right")
    title(axes, "Time to first token by outcome")
    caption(figure, f"{report.focus}: every turn that had a first token.")
    return Picture(figure)


def staying_sound(report: Report) -> Picture:
    """The share of sessions without a corrupted turn so far, by turn and arm, with 95 % bands."""
    curves = {arm.name: _until_first(report, arm.name) for arm in report.arms}
    curves = {name: found for name, found in curves.items() if found[0]}
    if not curves:
        return nothing("No session could be judged.")
    figure, (axes,) = canvas(7.6, 4.0)
    lowest = 1.0
    for place, (name, (turns, struck)) in enumerate(curves.items()):
        curve = kaplan_meier(turns, struck)
        x, share = [0.0, *curve.times], [1.0, *curve.share]
        lowest = min(lowest, *share)
        colour, dash = ARM_COLOURS[place % len(ARM_COLOURS)], _DASHES[place % len(_DASHES)]
        axes.step(x, share, where="post", color=colour, linestyle=dash, label=f"{name} ({len(turns):,} sessions)")
        if not any(struck):
            continue
        axes.fill_between(x, [1.0, *curve.low], [1.0, *curve.high], step="post", color=colour, alpha=0.12, linewidth=0)
    axes.set_xlabel("turns of the session")
    axes.set_ylabel("sessions still sound")
    percent_axis(axes, along="y")
    axes.set_ylim(max(0.0, lowest - 0.15), 1.01)
    axes.legend(frameon=False, fontsize=9, loc="lower left")
    title(axes, "How long sessions stay sound")
    assumed = "the 95 % bands take sessions as independent, which those of one run are not: claims rest on seeds"
    caption(figure, f"Kaplan-Meier; {assumed}.\nNo band where no session was struck.")
    return Picture(figure)


def _until_first(report: Report, arm: str) -> tuple[list[float], list[bool]]:
    """For each session: its turns until the first corrupted one, or all of them; and whether there was one."""
    sessions: dict[tuple[str, int], list[TurnPoint]] = defaultdict(list)
    for run in report.runs:
        if run.arm == arm:
            for point in run.points:
                sessions[run.name, point.session].append(point)
    turns, struck = [], []
    for points in sessions.values():
        judged = sorted((point for point in points if point.state is not State.UNKNOWN), key=lambda point: point.turn)
        first = next((number for number, point in enumerate(judged, 1) if point.state is State.CORRUPTED), None)
        if judged:
            turns.append(float(first or len(judged)))
            struck.append(first is not None)
    return turns, struck


def _worst(report: Report) -> RunPart | None:
    runs: Sequence[RunPart] = [run for run in report.runs if run.arm == report.focus and run.points]
    return max(runs, key=lambda run: run.session_rate or 0.0, default=None)
