"""Sessions that continue another one's history midway: how a poisoned page reaches a session with no load of its own.

Owns: choice of parent and turn, and what a fork asks. Does not own: root sessions (`roots`). Floor 5.

A fork at turn f begins with the parent's messages of turns [0, f), all of which the parent's request of turn f has
computed. Where that prefill had recalled a wrong anchor, the anchored facts in the shared tool results were written
wrong: a fork that asks for one of them answers wrong, though it has raced with nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from harness.load.workload.kit import SECRETS_PER_SESSION, Kit
from harness.load.workload.plan import ForkPoint, SessionPlan
from harness.load.workload.roots import Root
from harness.load.workload.runbook import Fact
from harness.load.workload.turns import Ask, Writer

NOTE_ROOM = 0.8
"""Part of a note's span that facts may fill; a note grows beyond `fork_note_tokens` rather than be denser."""


def plan_fork(kit: Kit, session: int, roots: Sequence[Root]) -> SessionPlan:
    spec = kit.spec
    rng = kit.session_stream(session)
    writer = Writer.of(kit, session, rng)
    parent = roots[int(rng.integers(len(roots)))]
    parent_turns = len(parent.plan.turns)
    # From turn 2 on the parent has read a tool result in an earlier prefill than the one that the fork joins; and
    # midway is early enough for the fork to run beside the others.
    low = min(2, parent_turns - 1)
    begin = int(rng.integers(low, max(low, parent_turns // 2 + 1) + 1)) if parent_turns > 2 else low
    secrets = tuple(kit.mint.secret() for _ in range(SECRETS_PER_SESSION))
    turn_count = int(rng.integers(spec.turns_min, spec.turns_max + 1))
    shared = _shared_asks(rng, parent, begin, turn_count, spec.fork_anchored_share)
    own = writer.facts(parent.plan.group, secrets, shared.count(None), set())
    remaining = iter(own)
    asks = [ask if ask is not None else Ask(next(remaining), "own") for ask in shared]
    needed = sum(fact.line(kit.counter).tokens for fact in own) * spec.redundancy
    target = max(spec.fork_note_tokens, int(needed / (NOTE_ROOM * spec.fact_span)))
    turns = writer.turns(asks, writer.first_message(secrets, own, (), target), results=())
    delay_ns = round(spec.fork_delay_s * 1e9)
    return SessionPlan(
        session=session,
        group=parent.plan.group,
        start_ns=parent.plan.start_ns + round((begin + 1) * spec.nominal_turn_s * 1e9) + delay_ns,
        system=parent.plan.system,
        tools=parent.plan.tools,
        inherited=parent.plan.turns[:begin],
        turns=turns,
        secrets=(*secrets, *parent.plan.secrets),
        fork=ForkPoint(parent.plan.session, begin, delay_ns),
        system_tokens=parent.plan.system_tokens,
    )


def _shared_asks(
    rng: np.random.Generator, parent: Root, begin: int, turn_count: int, anchored_share: float
) -> list[Ask | None]:
    """What each turn asks of the parent's facts; None where it asks for one of the fork's own.

    Anchored facts come from the shared tool results; runbook entries from those that the shared history has not
    asked for yet. Half of the questions that are not anchored go to the runbook, as long as it has any left.
    """
    answered = {turn.key for turn in parent.plan.turns[:begin]}
    anchored = _shuffled(rng, [fact for fact in parent.anchored if fact.turn < begin and fact.key not in answered])
    inherited = _shuffled(rng, [fact for fact in parent.runbook if fact.key not in answered])
    asks: list[Ask | None] = []
    for _ in range(turn_count):
        if anchored and rng.random() < anchored_share:
            asks.append(Ask(anchored.pop(), "anchored"))
        elif inherited and rng.random() < 0.5:
            asks.append(Ask(inherited.pop(), "inherited"))
        else:
            asks.append(None)
    return asks


def _shuffled(rng: np.random.Generator, facts: Sequence[Fact]) -> list[Fact]:
    return [facts[int(index)] for index in rng.permutation(len(facts))]
