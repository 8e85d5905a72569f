"""Silent drift: replies read well, and are longer, shorter or more often wrong than they were. Needs an A/A baseline.

Owns: comparing a run with two baseline runs of the same turns, by length and by score. The two baselines are compared
first: where they differ from each other, nothing can be said, since sound servers drift in their own noise. A drift is
told only where the run differs from both. Does not own: what one turn shows (every other oracle). Floor 3.
Source: the paired permutation test of `results.stats.seeds`; the unit is the session.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import exp, log

import numpy as np

from results.findings import Verdict
from results.oracles.divergence import Observed
from results.records import TurnRecord
from results.stats.seeds import paired_difference

SIGNIFICANCE = 0.01
MEASURE_COUNT = 2
"""Length and score are both looked at, so each gets half of the significance (Bonferroni)."""
RESAMPLES = 1_999
"""Sampled sign patterns: the smallest p is a tenth of the limit."""
SESSIONS_MIN = 8
"""With fewer pairs no sign pattern is rare enough for the significance."""

Measure = Callable[[Observed], float | None]


@dataclass(frozen=True, slots=True)
class Drift:
    """length_factor: mean length over the first baseline's, None where nothing could be paired. score_change: share of
    right replies, run minus baseline, where both were judged."""

    verdict: Verdict
    reason: str
    sessions: int
    length_factor: float | None
    score_change: float | None


def judge_drift(run: Sequence[Observed], baselines: Sequence[Sequence[Observed]], rng: np.random.Generator) -> Drift:
    """Compare a run with its baselines; turns are paired by session and turn, sessions that are not in all are left.

    Args:
        baselines: two runs of the same workload on a server that is known to be sound, or on the arm with the cache
            off. With fewer there is no noise floor, and the answer is UNKNOWN.
    """
    if len(baselines) < 2:
        return Drift(Verdict.UNKNOWN, f"{len(baselines)} baseline runs, and drift needs two (A/A)", 0, None, None)
    lengths, scores = (_by_session((run, *baselines[:2]), measure) for measure in (_log_length, _score))
    sessions = len(lengths[0])
    if sessions < SESSIONS_MIN:
        reason = f"{sessions} sessions are in the run and both baselines, and drift needs {SESSIONS_MIN}"
        return Drift(Verdict.UNKNOWN, reason, sessions, None, None)
    length_factor, score_change = exp(_mean(lengths[0]) - _mean(lengths[1])), _mean(scores[0]) - _mean(scores[1])
    told = [
        _compare("length", lengths, rng, f"a mean length of {length_factor:.2f} times the baseline's"),
        _compare("score", scores, rng, f"{100 * score_change:+.1f} points of right replies"),
    ]
    for verdict in (Verdict.VIOLATED, Verdict.UNKNOWN):
        reasons = [reason for found, reason in told if found is verdict]
        if reasons:
            return Drift(verdict, "; ".join(reasons), sessions, length_factor, score_change)
    return Drift(Verdict.OK, "", sessions, length_factor, score_change)


def _compare(name: str, values: Sequence[Sequence[float]], rng: np.random.Generator, what: str) -> tuple[Verdict, str]:
    run, first, second = values
    if len(run) < SESSIONS_MIN:
        return Verdict.UNKNOWN, f"{name}: {len(run)} sessions could be judged in all three runs"
    noise, one, other = (
        paired_difference(a, b, rng=rng, resamples=RESAMPLES) for a, b in ((first, second), (run, first), (run, second))
    )
    limit = SIGNIFICANCE / MEASURE_COUNT
    if noise.p_permutation < limit:
        return Verdict.UNKNOWN, f"{name}: the two baselines differ from each other (p = {noise.p_permutation:.2g})"
    p = max(one.p_permutation, other.p_permutation)
    is_same_way = one.difference * other.difference > 0
    return (Verdict.VIOLATED, f"{what} (p = {p:.2g})") if p < limit and is_same_way else (Verdict.OK, "")


def _by_session(runs: Sequence[Sequence[Observed]], measure: Measure) -> list[list[float]]:
    """For each run, each session's mean over the turns that all runs could measure."""
    measured = [{one.turn.key: value for one in run if (value := measure(one)) is not None} for run in runs]
    keys = sorted(set.intersection(*(set(values) for values in measured)))
    sessions: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for key in keys:
        sessions[key[0]].append(key)
    return [[_mean([values[key] for key in of_session]) for of_session in sessions.values()] for values in measured]


def _log_length(one: Observed) -> float | None:
    """Of a reply that came to its own end: a cut one has no length of its own."""
    if one.turn.error is not None or one.turn.finish_reason in (None, "length"):
        return None
    return log(1 + _length(one.turn))


def _length(turn: TurnRecord) -> int:
    tokens = turn.completion_tokens
    return tokens if tokens is not None else len(turn.content) + sum(len(call.arguments) for call in turn.tool_calls)


def _score(one: Observed) -> float | None:
    return None if one.judgement.verdict is Verdict.UNKNOWN else float(one.judgement.verdict is Verdict.OK)


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values)) if values else 0.0
