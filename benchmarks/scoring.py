"""Judging a corpus and counting: false alarms, recall by class and strength, confusion, blame.

Owns: the counts. Does not own: the corpus (`benchmarks.corpus`), the oracles (`results.oracles`), any text on screen.
Source: ours; intervals are Clopper and Pearson's.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from benchmarks.corpus.case import Batch, Case
from results.findings import Judgement, Kind, Verdict
from results.oracles.context import JudgeContext, judge_context
from results.oracles.judge import judge_turn
from results.stats.intervals import Interval, clopper_pearson

EXAMPLES_MAX = 20


@dataclass(slots=True)
class Counts:
    """What a corpus came to.

    families: sound replies by family; alarms: those of them that were called corrupted, by (family, kind).
    found: of each planted kind and strength, how many were found. called: what each planted kind was called.
    """

    sound: int = 0
    sound_ok: int = 0
    sound_unknown: int = 0
    families: Counter[str] = field(default_factory=Counter)
    alarms: Counter[tuple[str, str]] = field(default_factory=Counter)
    examples: list[tuple[Case, Judgement]] = field(default_factory=list)
    planted: Counter[tuple[Kind, str]] = field(default_factory=Counter)
    found: Counter[tuple[Kind, str]] = field(default_factory=Counter)
    called: Counter[tuple[Kind, str]] = field(default_factory=Counter)
    blamed: Counter[tuple[Kind, str]] = field(default_factory=Counter)

    def recall(self, kind: Kind, strength: str | None = None) -> Interval:
        """The share of a planted kind that was found: called corrupted, or for no corruption called by its name."""
        keys = [key for key in self.planted if key[0] is kind and strength in (None, key[1])]
        return clopper_pearson(sum(self.found[key] for key in keys), sum(self.planted[key] for key in keys))

    def strengths(self, kind: Kind) -> list[str]:
        return sorted(strength for planted, strength in self.planted if planted is kind)


def context_of(batch: Batch) -> JudgeContext:
    """What a judge knows of a run whose turns these are."""
    turns = [case.turn for case in batch.cases]
    return judge_context(
        tools=batch.tools,
        sessions=batch.sessions,
        planted=((turn.session, turn.turn, turn.expected) for turn in turns),
        ended_ns=(turn.finished_ns for turn in turns if turn.finished_ns is not None),
    )


def score(batches: Iterable[Batch], counts: Counts | None = None) -> Counts:
    counts = Counts() if counts is None else counts
    for batch in batches:
        context = context_of(batch)
        for case in batch.cases:
            _count(counts, case, judge_turn(case.turn, context))
    return counts


def _count(counts: Counts, case: Case, judgement: Judgement) -> None:
    if case.truth is None:
        counts.sound += 1
        counts.families[case.family] += 1
        counts.sound_ok += judgement.verdict is Verdict.OK
        counts.sound_unknown += judgement.verdict is Verdict.UNKNOWN
        if judgement.is_corrupted:
            counts.alarms[case.family, str(judgement.kind)] += 1
            _keep(counts, case, judgement)
        return
    key = (case.truth, case.strength)
    is_found = judgement.is_corrupted if case.truth.is_corruption else _is_told(case.truth, judgement)
    counts.planted[key] += 1
    counts.found[key] += is_found
    counts.called[case.truth, str(judgement.kind) if judgement.kind else str(judgement.verdict)] += 1
    if judgement.blame is not None:
        counts.blamed[case.truth, str(judgement.blame.side)] += 1
    if not is_found:
        _keep(counts, case, judgement)


def _is_told(truth: Kind, judgement: Judgement) -> bool:
    """No corruption, and called by its name: as the reason why it is unknown, or as a note beside OK."""
    return not judgement.is_corrupted and truth in {finding.kind for finding in judgement.findings}


def _keep(counts: Counts, case: Case, judgement: Judgement) -> None:
    if len(counts.examples) < EXAMPLES_MAX:
        counts.examples.append((case, judgement))
