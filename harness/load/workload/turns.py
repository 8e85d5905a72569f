"""From the list of what a session asks for to its turns: questions, results, pauses.

Owns: writing turns. Does not own: what is asked (`roots`, `forks`). Floor 5.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from harness.load.workload.grammar import reference
from harness.load.workload.kit import NOTHING, Kit
from harness.load.workload.plan import AskKind, TurnPlan
from harness.load.workload.prose import Line
from harness.load.workload.runbook import Fact, compose, spread
from harness.load.workload.texts import question, result_head, runbook_head

RESULT_TOKENS_MIN = 24


@dataclass(frozen=True, slots=True)
class Ask:
    fact: Fact
    kind: AskKind


@dataclass(frozen=True, slots=True)
class Writer:
    """Writes the texts of one session from its own random stream."""

    kit: Kit
    session: int
    rng: np.random.Generator
    filler: Iterator[Line]

    @classmethod
    def of(cls, kit: Kit, session: int, rng: np.random.Generator) -> Writer:
        return cls(kit, session, rng, kit.pool.shuffled(rng))

    def facts(self, group: int, secrets: Sequence[str], count: int, taken: set[str]) -> list[Fact]:
        """New facts under fresh keys. Effect: adds their bodies to `taken`."""
        calls = self.kit.drawers[group].draw(self.rng, secrets, count, taken)
        return [Fact(self.kit.mint.key(), None, call, self.kit.counter.line(call.body).tokens) for call in calls]

    def first_message(
        self, secrets: Sequence[str], asked: Sequence[Fact], decoys: Sequence[Fact], target_tokens: int
    ) -> Line:
        """The private notes: what may be asked in the first `fact_span`, decoys behind it. No question yet."""
        spec = self.kit.spec
        head = self.kit.counter.line(runbook_head(secrets))
        lines = [fact.line(self.kit.counter) for fact in asked]
        span = target_tokens * spec.fact_span
        # A fact begins behind its position by up to one line of filler, and must still end inside the span.
        margin = self.kit.pool.longest_tokens + max((line.tokens for line in lines), default=0)
        placed = spread(lines, spec.redundancy, head.tokens, max(span - margin, span / 2), self.rng)
        placed += spread([fact.line(self.kit.counter) for fact in decoys], 1, span, target_tokens, self.rng)
        return compose(head, placed, self.filler, target_tokens)

    def turns(self, asks: Sequence[Ask], first: Line, results: Sequence[Sequence[Fact]]) -> tuple[TurnPlan, ...]:
        """One turn for each ask. first: stands before the first question. results: anchored facts by turn."""
        plans = []
        for turn, ask in enumerate(asks):
            mark = reference(ask.fact.key, ask.fact.anchor)
            words = self.kit.counter.line(question(self.rng, mark))
            is_last = turn + 1 == len(asks)
            result = NOTHING if is_last else self._result(results[turn] if turn < len(results) else ())
            plans.append(
                TurnPlan(
                    call_id=f"call_{self.session:04d}_{turn:02d}",
                    user=first.text + words.text if turn == 0 else words.text,
                    kind=ask.kind,
                    key=ask.fact.key,
                    anchor=ask.fact.anchor,
                    reference=mark,
                    expected=ask.fact.call,
                    tool_result=result.text,
                    think_ns=self._think_ns(),
                    user_tokens=words.tokens + (first.tokens if turn == 0 else 0),
                    call_tokens=ask.fact.call_tokens,
                    result_tokens=result.tokens,
                )
            )
        return tuple(plans)

    def _result(self, facts: Sequence[Fact]) -> Line:
        spec = self.kit.spec
        drawn = self.rng.lognormal(spec.tool_result_log_mean, spec.tool_result_log_sigma)
        target = int(min(max(drawn, RESULT_TOKENS_MIN), spec.tool_result_tokens_max))
        head = self.kit.counter.line(result_head(self.rng))
        lines = [fact.line(self.kit.counter) for fact in facts]
        placed = spread(lines, spec.redundancy, head.tokens, target, self.rng)
        return compose(head, placed, self.filler, target)

    def _think_ns(self) -> int:
        spec = self.kit.spec
        if spec.think_sigma == 0.0:
            return round(spec.think_s * 1e9)
        return round(spec.think_s * 1e9 * float(np.exp(spec.think_sigma * self.rng.standard_normal())))
