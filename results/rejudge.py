"""Judging a stored run again, with today's oracles.

Owns: building the judge's context from nothing but the run folder, and reading the raw text of the turns that need it.
Floor 3. Source: ours.
"""

from __future__ import annotations

from dataclasses import replace

from results.findings import Judgement, Verdict
from results.lines import LineFault
from results.oracles.context import JudgeContext, judge_context
from results.oracles.judge import judge_turn, judge_turns
from results.reader import Run, read_raw


def context_of_run(run: Run) -> JudgeContext:
    """What the judge must know of a run. Planted calls of turns that were never stored are not known here."""
    return judge_context(
        tools=run.tools,
        sessions=run.sessions,
        planted=((turn.session, turn.turn, turn.expected) for turn in (*run.turns, *run.aside)),
        ended_ns=(turn.finished_ns for turn in run.turns if turn.finished_ns is not None),
        exact_replies=run.manifest.exact_replies,
        max_tokens=run.manifest.max_tokens,
    )


def judge_run(run: Run) -> list[Judgement]:
    """One judgement a turn, in the order of the turns. Does not touch the stored judgements."""
    return judge_again(run)[0]


def judge_again(run: Run) -> tuple[list[Judgement], list[LineFault]]:
    """As `judge_run`, with what of the raw text could not be read.

    The raw text is most of a run's bytes, and says nothing more of a turn that is OK without it: it is read only where
    some turn is not.
    """
    context = context_of_run(run)
    judgements = judge_turns(run.turns, context)
    if all(judgement.verdict is Verdict.OK for judgement in judgements):
        return judgements, []
    raw, faults = read_raw(run)
    for place, (turn, judgement) in enumerate(zip(run.turns, judgements, strict=True)):
        if judgement.verdict is not Verdict.OK and turn.key in raw:
            judgements[place] = judge_turn(replace(turn, raw=raw[turn.key]), context)
    return judgements, faults


def changed(run: Run, judgements: list[Judgement]) -> list[tuple[Judgement, Judgement]]:
    """(as stored, as of today) of the turns whose verdict or kind is another one now."""
    stored = {judgement.key: judgement for judgement in run.judgements}
    pairs = ((stored[now.key], now) for now in judgements if now.key in stored)
    return [(then, now) for then, now in pairs if (then.verdict, then.kind) != (now.verdict, now.kind)]
