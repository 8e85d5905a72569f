"""Runs whose replies drift silently, and how often that is found: false alarms at no drift, recall by strength.

Owns: the imagined runs. Replies' lengths spread by a factor of about 1.6 between turns, as agents' do, and by a few per
cent between two runs of one turn, as sampling and batching make them. Does not own: the test (`results.oracles.drift`).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from benchmarks.corpus.case import sound_turn
from benchmarks.page import Figures
from results.findings import Judgement, Kind, Origin, Verdict
from results.oracles.divergence import Observed
from results.oracles.drift import judge_drift
from results.records import ExpectedCall, SessionRecord
from results.stats.intervals import clopper_pearson

SESSIONS = 30
TURNS = 5
RUN_NOISE = 0.15
TURN_SPREAD = 0.5
WRONG_SHARE = 0.02
STRENGTHS = (
    ("none (sound): false alarms", 1.0, 0.0),
    ("5 % longer", 1.05, 0.0),
    ("10 % longer", 1.10, 0.0),
    ("20 % longer", 1.20, 0.0),
    ("twice as long", 2.0, 0.0),
    ("10 % shorter", 0.9, 0.0),
    ("10 more of 100 replies wrong", 1.0, 0.10),
    ("20 more of 100 replies wrong", 1.0, 0.20),
)


def drift_table(seed: int, runs: int) -> Figures:
    rows = []
    for order, (name, factor, wrong) in enumerate(STRENGTHS):
        rng = np.random.default_rng([seed, order])
        verdicts = [_verdict(rng, factor, wrong) for _ in range(runs)]
        found = clopper_pearson(verdicts.count(Verdict.VIOLATED), runs)
        bounds = f"{100 * found.low:.1f}-{100 * found.high:.1f} %"
        rows.append((name, runs, f"{100 * found.estimate:.1f} %", bounds, verdicts.count(Verdict.UNKNOWN)))
    measured = f"Runs of {SESSIONS} sessions with {TURNS} turns, each against two sound baselines. Seed {seed}."
    return Figures(("drift", "runs", "found", "95 %", "UNKNOWN"), tuple(rows), measured)


def _verdict(rng: np.random.Generator, factor: float, wrong: float) -> Verdict:
    lengths = 100 * np.exp(rng.normal(0, TURN_SPREAD, size=(SESSIONS, TURNS)))
    run = _run(rng, lengths * factor, WRONG_SHARE + wrong)
    baselines = [_run(rng, lengths, WRONG_SHARE) for _ in range(2)]
    return judge_drift(run, baselines, rng).verdict


def _run(rng: np.random.Generator, lengths: np.ndarray, wrong: float) -> list[Observed]:
    observed = []
    for (session, number), length in np.ndenumerate(lengths):
        record = SessionRecord(session, group=0, turn_count=TURNS)
        tokens = max(1, int(length * np.exp(rng.normal(0, RUN_NOISE))))
        turn = replace(sound_turn(record, number, ExpectedCall("f", {})), completion_tokens=tokens)
        observed.append(Observed(turn, _judgement(session, number, is_wrong=rng.random() < wrong)))
    return observed


def _judgement(session: int, turn: int, *, is_wrong: bool) -> Judgement:
    if is_wrong:
        return Judgement(session, turn, Verdict.VIOLATED, Kind.WRONG_CALL, Origin.UNOBSERVED, ())
    return Judgement(session, turn, Verdict.OK, None, None, ())
