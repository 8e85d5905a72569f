"""Judging a stored run again, with today's oracles.

Owns: building the judge's context from nothing but the run folder. Floor 3. Source: ours.
"""

from __future__ import annotations

from results.findings import Judgement
from results.oracles.context import JudgeContext, judge_context
from results.oracles.judge import judge_turns
from results.reader import Run


def context_of_run(run: Run) -> JudgeContext:
    """What the judge must know of a run. Planted calls of turns that were never stored are not known here."""
    return judge_context(
        tools=run.tools,
        sessions=run.sessions,
        planted=((turn.session, turn.turn, turn.expected) for turn in run.turns),
        exact_replies=run.manifest.exact_replies,
        max_tokens=run.manifest.max_tokens,
    )


def judge_run(run: Run) -> list[Judgement]:
    """One judgement a turn, in the order of the turns. Does not touch the stored judgements."""
    return judge_turns(run.turns, context_of_run(run))
