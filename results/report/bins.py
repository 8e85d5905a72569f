"""The share of corrupted turns over whatever may drive it: time, depth, load, the dose of stale reads.

Owns: the quantities, cutting them into bins, intervals that allow for sessions. Does not own: drawing, the points
(`points`), the curve over a dose (`trends`). Floor 3. Source: ours.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import floor

import numpy as np

from results.report.parts import Bin, Bins, Rate, RunPart, State, TurnPoint
from results.report.rates import by_seed, by_session
from results.report.ticks import round_step
from results.report.trends import Known, trend_of, trend_words

_BINS_MAX = 20
_QUANTILES_MAX = 6
_TURNS_A_BIN = 5
_LABELLED_MAX = 10

Measure = Callable[[TurnPoint], float | None]


def bins_of(runs: Sequence[RunPart], arm: str) -> tuple[Bins, ...]:
    """When and where corruption struck in the runs of one arm, for each quantity that its turns tell."""
    points = [(number, point) for number, run in enumerate(runs) for point in run.points]
    judged = [(number, point) for number, point in points if point.state is not State.UNKNOWN]
    if not judged:
        return ()
    clock = "virtual time" if runs[0].times_are_virtual else "time"
    found = []
    for quantity in _QUANTITIES:
        known = [(number, point, x) for number, point in judged if (x := quantity.measure(point)) is not None]
        if known:
            edges, labels = _edges([x for *_, x in known], quantity.shape)
            bins = tuple(_bins(known, edges, labels, is_even=quantity.shape == "even"))
            trend = _trend(quantity, known)
            label = quantity.label.format(clock=clock)
            found.append(Bins(quantity.name, quantity.title, label, arm, quantity.dose is not None, bins, trend))
    # One bin would be a second copy of the arm's rate, and no picture.
    return tuple(bins for bins in found if len(bins.bins) > 1)


@dataclass(frozen=True, slots=True)
class _Quantity:
    """shape: how it is cut into bins. dose: step and unit in which its effect is said; None where it is no dose."""

    name: str
    title: str
    label: str
    measure: Measure
    shape: str
    dose: tuple[float, str] | None = None


_QUANTITIES = (
    _Quantity("time", "When in the run", "{clock} when the turn was sent, s", lambda point: point.sent_s, "even"),
    _Quantity("turn", "How deep in the session", "turn of its session", lambda point: point.turn, "whole"),
    _Quantity("context", "How long the prompt", "prompt, tokens", lambda point: point.prompt_tokens, "quantiles"),
    _Quantity("load", "Over load", "requests in flight when the turn was sent", lambda point: point.in_flight,
              "quantiles", (10.0, "requests in flight")),
    _Quantity("loaded", "Over the size of the load-back", "tokens loaded back from the host tier",
              lambda point: point.loaded_tokens, "zero first", (1_000.0, "tokens loaded back")),
    _Quantity("stale", "Over the stale layers", "layers of its prefill that read stale pages",
              lambda point: point.stale_layers, "zero first", (1.0, "stale layer")),
)  # fmt: skip


def _trend(quantity: _Quantity, known: Known) -> str | None:
    curve = None if quantity.dose is None else trend_of(known)
    return None if curve is None or quantity.dose is None else trend_words(curve, *quantity.dose)


def _edges(values: Sequence[float], shape: str) -> tuple[list[float], list[str] | None]:
    """The edges of the bins; labels where a bin is one whole number."""
    low, high = min(values), max(values)
    if shape == "whole" or (shape == "quantiles" and len(set(values)) <= _QUANTILES_MAX):
        whole = sorted(set(values))
        if len(whole) <= _LABELLED_MAX:
            return [*whole, whole[-1]], [f"{value:g}" for value in whole]
    if low == high:
        return [low, high], None
    if shape == "zero first":
        rest = _quantile_edges([value for value in values if value > 0])
        rest = [*rest, *rest] if len(rest) == 1 else rest
        return ([0.0, *rest] if low == 0 else rest), None
    if shape == "quantiles":
        return _quantile_edges(values), None
    return _round_edges(low, high), None


def _round_edges(low: float, high: float) -> list[float]:
    """Even bins with round edges, the last of them beyond `high`."""
    step = round_step((high - low) / _BINS_MAX)
    first, last = floor(low / step), floor(high / step) + 1
    return [number * step for number in range(first, last + 1)]


def _quantile_edges(values: Sequence[float]) -> list[float]:
    """Edges that put about as many turns into each bin."""
    count = max(1, min(_QUANTILES_MAX, len(values) // _TURNS_A_BIN))
    edges = np.unique(np.quantile(values, np.linspace(0, 1, count + 1), method="lower"))
    return [float(edge) for edge in edges]


def _bins(known: Known, edges: Sequence[float], labels: Sequence[str] | None, *, is_even: bool) -> Iterable[Bin]:
    inner = edges[1:-1]
    members: dict[int, list[tuple[int, TurnPoint, float]]] = defaultdict(list)
    for number, point, x in known:
        members[bisect_right(inner, x)].append((number, point, x))
    is_one_run = len({number for number, *_ in known}) == 1
    for place, (low, high) in enumerate(pairwise(edges)):
        is_last = place == len(edges) - 2
        if labels:
            label = labels[place]
        elif not is_even and len({x for *_, x in members[place]}) == 1:
            label = f"{members[place][0][2]:,.5g}"
        else:
            label = _range_label(low, high, is_last)
        yield Bin(label, low, high, _rate([member[:2] for member in members[place]], is_one_run=is_one_run))


def _range_label(low: float, high: float, is_last: bool) -> str:
    return f"{low:,.5g} to {high:,.5g}" if is_last else f"{low:,.5g} to under {high:,.5g}"


def _rate(members: Sequence[tuple[int, TurnPoint]], *, is_one_run: bool) -> Rate:
    """Over turns. The cluster is the seed, which is all that is independent; in a single run, the session."""
    events: dict[int, int] = defaultdict(int)
    units: dict[int, int] = defaultdict(int)
    for number, point in members:
        cluster = point.session if is_one_run else number
        units[cluster] += 1
        events[cluster] += point.state is State.CORRUPTED
    counts = [events[key] for key in units], list(units.values())
    return by_session(*counts) if is_one_run else by_seed(*counts, unit="turn")
