"""Figures over the time of one run: first-token time, time between tokens, load-backs, and one lane a session.

Owns: their layout, and which sessions get a lane where there are many. Does not own: the points (`points`).
Floor 3. Source: ours.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence

from results.report.html.marks import Box, Key, Mark, Path, Plot, Symbol, dots
from results.report.html.rate_plots import WIDE
from results.report.html.scales import Scale, log_span
from results.report.parts import RunPart, State, TurnPoint
from results.report.words import plural

LANES_MAX = 80
_LEFT, _RIGHT, _TOP, _BOTTOM = 70.0, 14.0, 10.0, 44.0
_PANEL = 168.0
_LANE = 8.0
_LOG_FROM = 20.0

_KEYS = {
    State.SOUND: Key("dot", "ok", "sound"),
    State.CORRUPTED: Key("cross", "bad", "corrupted"),
    State.UNKNOWN: Key("ring", "unknown", "could not be judged"),
}
_LANE_KEYS = (
    Key("box", "ok-lane", "sound"),
    Key("box", "loaded-lane", "sound, with a load-back"),
    Key("box", "bad struck", "corrupted"),
    Key("box", "unknown-lane", "could not be judged"),
)


def time_lines(run: RunPart) -> list[Plot]:
    """Panels over the same time axis; one whose quantity no turn tells is left out."""
    panels = (
        ("ttft", "Time to first token", "s", lambda point: point.ttft_s),
        ("itl", "Mean time between tokens of a reply", "ms", lambda point: point.itl_ms),
        ("loads", "Load-backs: tokens of the prompt that came from the host tier", "tokens",
         lambda point: point.loaded_tokens or None),
    )  # fmt: skip
    made = (_panel(run, name, title, unit, measure) for name, title, unit, measure in panels)
    return [panel for panel in made if panel is not None]


def lanes(run: RunPart) -> tuple[Plot | None, str]:
    """One lane a session, a box a request; and, in words, which sessions are shown."""
    sessions: dict[int, list[TurnPoint]] = defaultdict(list)
    for point in run.points:
        sessions[point.session].append(point)
    if not sessions:
        return None, "no turn could be read"
    shown, words = _chosen(sessions)
    x = _time_scale(run.points)
    bottom = _TOP + _LANE * len(shown)
    marks: list[Mark] = []
    boxes: dict[str, list[str]] = defaultdict(list)
    for place, points in enumerate(shown):
        y = _TOP + _LANE * place + 1
        for point in points:
            begin = x(point.sent_s)
            width = max(1.5, (x(point.end_s) if point.end_s is not None else begin) - begin)
            if point.state is State.CORRUPTED:
                marks.append(Box(begin, y - 0.5, max(3.0, width), _LANE - 1, "bad struck", _words(point)))
            else:
                boxes[_lane_css(point)].append(f"M{begin:.1f} {y:.1f}h{width:.1f}v{_LANE - 2:.0f}h-{width:.1f}z")
    paths = [Path("".join(parts), css) for css, parts in boxes.items()]
    used = {*boxes, *(["bad struck"] if marks else [])}
    plot = Plot(
        name="lanes",
        title="Sessions",
        description=f"{words} Corrupted requests stand out.",
        width=WIDE,
        height=bottom + _BOTTOM,
        left=_LEFT,
        right=WIDE - _RIGHT,
        top=_TOP,
        bottom=bottom,
        x_ticks=x.ticks(12),
        x_label=_time_label(run),
        y_label="sessions, by their begin",
        grid="x",
        marks=(*paths, *marks),
        keys=tuple(key for key in _LANE_KEYS if key.css in used),
    )
    return plot, words


def _panel(run: RunPart, name: str, title: str, unit: str, measure: Callable[[TurnPoint], float | None]) -> Plot | None:
    known = [(point, value) for point in run.points if (value := measure(point)) is not None and value > 0]
    if not known:
        return None
    x = _time_scale(run.points)
    values = [value for _, value in known]
    is_log = name != "loads" and max(values) / min(values) > _LOG_FROM
    low, high = log_span(values) if is_log else (0.0, max(values) * 1.05)
    y = Scale(low, high, _PANEL - _BOTTOM, _TOP, is_log)
    sound = [(x(point.sent_s), y(value)) for point, value in known if point.state is State.SOUND]
    marks: list[Mark] = [dots(sound, "ok dots")]
    marks += [
        Symbol(x(point.sent_s), y(value), "cross" if point.state is State.CORRUPTED else "ring",
               "bad" if point.state is State.CORRUPTED else "unknown", _words(point))
        for point, value in known
        if point.state is not State.SOUND
    ]  # fmt: skip
    struck = sum(point.state is State.CORRUPTED for point, _ in known)
    return Plot(
        name=name,
        title=title,
        description=f"{plural(len(known), 'turn')}, {min(values):.3g} to {max(values):.3g}; {struck} corrupted.",
        width=WIDE,
        height=_PANEL,
        left=_LEFT,
        right=WIDE - _RIGHT,
        top=_TOP,
        bottom=_PANEL - _BOTTOM,
        x_ticks=x.ticks(12),
        y_ticks=y.ticks(4),
        x_label=_time_label(run),
        y_label=f"{unit} (log)" if is_log else unit,
        marks=tuple(marks),
        keys=tuple(_KEYS[state] for state in State if any(point.state is state for point, _ in known)),
    )


def _chosen(sessions: dict[int, list[TurnPoint]]) -> tuple[list[list[TurnPoint]], str]:
    """All sessions where they fit; else those with corruption first, then the earliest."""
    by_begin = sorted(sessions.values(), key=lambda points: (points[0].sent_s, points[0].session))
    if len(by_begin) <= LANES_MAX:
        return by_begin, f"All {plural(len(by_begin), 'session')}."
    struck = [any(point.state is State.CORRUPTED for point in points) for points in by_begin]
    order = sorted(range(len(by_begin)), key=lambda place: (not struck[place], place))
    kept = sorted(order[:LANES_MAX])
    shown_struck = sum(struck[place] for place in kept)
    return [by_begin[place] for place in kept], (
        f"{LANES_MAX} of {len(by_begin):,} sessions: {shown_struck:,} of {sum(struck):,} with corruption, "
        "and the earliest others."
    )


def _lane_css(point: TurnPoint) -> str:
    if point.state is State.UNKNOWN:
        return "unknown-lane"
    return "loaded-lane" if point.loaded_tokens else "ok-lane"


def _time_scale(points: Sequence[TurnPoint]) -> Scale:
    ends = [point.end_s if point.end_s is not None else point.sent_s for point in points]
    return Scale(0.0, max(ends, default=1.0), _LEFT, WIDE - _RIGHT)


def _time_label(run: RunPart) -> str:
    return "virtual time since the run's start, s" if run.times_are_virtual else "time since the run's start, s"


def _words(point: TurnPoint) -> str:
    kind = "" if point.kind is None else f": {point.kind.replace('_', ' ')}"
    return f"session {point.session} turn {point.turn} at {point.sent_s:.3f} s{kind}"
