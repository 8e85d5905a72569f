"""Sessions that begin by themselves: a private runbook, then one entry of it a turn.

Owns: what a root session asks, and where anchored facts stand in its tool results. Does not own: sessions that
continue another one (`forks`). Floor 5.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from harness.load.workload.kit import SECRETS_PER_SESSION, Kit
from harness.load.workload.plan import SessionPlan
from harness.load.workload.runbook import Fact
from harness.load.workload.turns import Ask, Writer


@dataclass(frozen=True, slots=True)
class Root:
    """A session and its facts: `runbook` by the turn that would ask for each, `anchored` in all tool results."""

    plan: SessionPlan
    runbook: tuple[Fact, ...]
    anchored: tuple[Fact, ...]


def plan_root(kit: Kit, session: int) -> Root:
    spec = kit.spec
    rng = kit.session_stream(session)
    writer = Writer.of(kit, session, rng)
    group = kit.groups[session % len(kit.groups)]
    secrets = tuple(kit.mint.secret() for _ in range(SECRETS_PER_SESSION))
    turn_count = int(rng.integers(spec.turns_min, spec.turns_max + 1))
    taken: set[str] = set()
    runbook = writer.facts(group.group, secrets, turn_count, taken)
    decoys = writer.facts(group.group, secrets, spec.decoys, taken)
    # The last turn's result is never sent, so it holds nothing.
    anchored = [
        [
            replace(fact, anchor=runbook[int(rng.integers(turn_count))].key, turn=turn)
            for fact in writer.facts(group.group, secrets, spec.anchored_per_result, taken)
        ]
        for turn in range(turn_count - 1)
    ]
    low, high = spec.first_message_tokens_min, spec.first_message_tokens_max
    drawn = int(rng.integers(low, high + 1))
    # A message ends short of its length by up to one line; keep that inside the bounds where there is room.
    target = max(drawn, min(high, low + kit.pool.longest_tokens))
    turns = writer.turns(
        asks=_asks(rng, runbook, anchored, spec.anchored_share),
        first=writer.first_message(secrets, runbook, decoys, target),
        results=anchored,
    )
    plan = SessionPlan(
        session=session,
        group=group.group,
        start_ns=int(rng.random() * spec.start_spread_s * 1e9),
        system=group.system,
        tools=group.tools,
        inherited=(),
        turns=turns,
        secrets=secrets,
        fork=None,
        system_tokens=group.tokens,
    )
    return Root(plan, tuple(runbook), tuple(fact for facts in anchored for fact in facts))


def _asks(
    rng: np.random.Generator, runbook: Sequence[Fact], anchored: Sequence[Sequence[Fact]], anchored_share: float
) -> list[Ask]:
    """Turn t asks for runbook entry t, or, now and then, for an anchored fact of an earlier turn's result."""
    asks: list[Ask] = []
    open_facts: list[Fact] = []
    for turn, own in enumerate(runbook):
        if open_facts and rng.random() < anchored_share:
            asks.append(Ask(open_facts.pop(int(rng.integers(len(open_facts)))), "anchored"))
        else:
            asks.append(Ask(own, "own"))
        if turn < len(anchored):
            open_facts += anchored[turn]
    return asks
