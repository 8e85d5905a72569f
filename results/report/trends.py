"""Does more of a quantity bring more corruption? A logistic curve over the turns, in one sentence.

Owns: which turns and clusters enter, and the words. Does not own: the fit (`results.stats.dose_response`). A curve is
only fitted where there are enough corrupted turns to hold it. Floor 3. Source: ours.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import exp

from results.report.parts import State, TurnPoint
from results.report.words import p_words
from results.stats.dose_response import CURVE_CLUSTERS_MIN, DoseResponse, NotFitted, dose_response

EVENTS_MIN = 5
"""With fewer corrupted turns a slope says nothing, whatever its p."""

Known = Sequence[tuple[int, TurnPoint, float]]
"""Number of the run, turn, and the quantity."""


def trend_of(known: Known) -> DoseResponse | None:
    """The curve over the turns; the cluster is the run where there are enough runs, else the session."""
    events = [int(point.state is State.CORRUPTED) for _, point, _ in known]
    if sum(events) < EVENTS_MIN:
        return None
    runs = [number for number, _, _ in known]
    if len(set(runs)) < CURVE_CLUSTERS_MIN:
        places = {key: place for place, key in enumerate(dict.fromkeys(_session(one) for one in known))}
        runs = [places[_session(one)] for one in known]
    try:
        return dose_response({"dose": [x for *_, x in known]}, events, [1] * len(events), runs)
    except NotFitted:
        return None


def trend_words(curve: DoseResponse, step: float, unit: str) -> str:
    """The odds ratio of `step` more of the quantity, with its interval and p."""
    (term,) = curve.terms
    ratio, low, high = (exp(step * value) for value in (term.log_odds, term.low, term.high))
    odds = f"the odds are multiplied by {ratio:.3g} ({low:.3g} to {high:.3g})"
    said = f"{step:,g} more {unit}: {odds}, {p_words(term.p)}"
    return said if curve.caveat is None else f"{said}; {curve.caveat}"


def _session(one: tuple[int, TurnPoint, float]) -> tuple[int, int]:
    number, point, _ = one
    return number, point.session
