"""One rate of independent units, valid at every look: stop whenever you like.

Owns: the beta-binomial confidence sequence and the e-value against "the rate is at most this". Does not own: units
that depend on each other; there the seed is the unit (`betting`, `symmetry`, `sequential`). Floor 3.
Source: Robbins, Ann. Math. Statist. 41 (1970): the mixture likelihood ratio is a martingale, so by Ville's inequality
it passes 1 / alpha at any time with a chance of at most alpha. The mixture is Jeffreys' Beta(1/2, 1/2).
"""

from __future__ import annotations

from math import exp, inf, log

from scipy import optimize, special

from results.stats.intervals import LEVEL, Interval

_A = 0.5
"""Jeffreys' prior: as good for rare events as for common ones. It tunes the width, never the validity."""
_EDGE = 1e-12


def rate_sequence(events: int, units: int, level: float = LEVEL) -> Interval:
    """The interval of a rate after `units` units; all intervals of a growing run hold at once with chance `level`.

    Assumes: independent units with one rate. No units give [0, 1].
    """
    assert 0 <= events <= units and 0 < level < 1, (events, units, level)
    method = "beta-binomial confidence sequence"
    if units == 0:
        return Interval(float("nan"), 0.0, 1.0, 0, level, method)
    threshold, rate = -log(1 - level), events / units

    def excess(at: float) -> float:
        return _log_ratio(events, units, at) - threshold

    low = 0.0 if events == 0 else float(optimize.brentq(excess, _EDGE, rate)) if excess(_EDGE) > 0 else 0.0
    high = 1.0 if events == units else float(optimize.brentq(excess, rate, 1 - _EDGE)) if excess(1 - _EDGE) > 0 else 1.0
    return Interval(rate, low, high, units, level, method)


def rate_evidence(events: int, units: int, at_most: float) -> float:
    """The e-value against "the rate is at most `at_most`": reject at 1 / alpha or more, at any look.

    Assumes: independent units. The mixture is over rates above `at_most` only, so no lower rate can make it grow.
    """
    assert 0 <= events <= units and 0 < at_most < 1, (events, units, at_most)
    above = special.betaincc(_A + events, _A + units - events, at_most)
    if above == 0:
        return 0.0
    log_e = _log_ratio(events, units, at_most) + log(above) - log(special.betaincc(_A, _A, at_most))
    return exp(log_e) if log_e < 700 else inf


def _log_ratio(events: int, units: int, rate: float) -> float:
    """Log of the mixture's likelihood over that of `rate`."""
    mixture = special.betaln(_A + events, _A + units - events) - special.betaln(_A, _A)
    return float(mixture - special.xlogy(events, rate) - special.xlog1py(units - events, -rate))
