"""Tokens and minimising: text and back, and one constraint out of an arbitrary failing order.

Owns: `Token`, `fewest`, `turned_round`. Floor: tests. Source: facts/concurrency.md section 4.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernels.races.scheduler.execution import Execution
from kernels.races.scheduler.plan import Plan
from kernels.races.scheduler.program import program_hash
from kernels.races.search.minimise import fewest, turned_round
from kernels.races.search.tokens import Token, TokenRefused
from kernels.races.strategies.issue_order import Constraint, IssueOrder, OpRef
from kernels.races.strategies.random_walk import RandomWalk
from kernels.races.strategies.replaying import ReplayDivergence, Replaying
from tests.races import programs

refs = st.builds(OpRef, st.integers(0, 9), st.integers(1, 400))
constraints = st.lists(st.builds(Constraint, refs, refs), max_size=5).map(tuple)


@given(constraints, st.text("abc019_,=.", max_size=12))
def test_text_of_orders_and_back(orders: tuple[Constraint, ...], workload: str) -> None:
    token = Token("0123abcd", workload, orders)
    assert Token.parse(str(token), program_hash="0123abcd") == token


@given(st.lists(st.integers(0, 3), max_size=60).map(tuple))
def test_text_of_choices_and_back(choices: tuple[int, ...]) -> None:
    token = Token("0123abcd", choices=choices)
    assert Token.parse(str(token)) == token


@pytest.mark.parametrize("text", ["", "kr1", "kr9-0123abcd--o", "kr1-0123abcd--o1.1b", "kr1-0123abcd--c1xx2", "x" * 9])
def test_unreadable_tokens_are_refused(text: str) -> None:
    with pytest.raises(TokenRefused):
        Token.parse(text)


def test_hash_follows_the_code_and_what_it_captures() -> None:
    assert program_hash(programs.gated(3)) == program_hash(programs.gated(3))
    assert len({program_hash(programs.gated(n)) for n in range(5)} | {program_hash(programs.ungated(3))}) == 6


@pytest.mark.parametrize("seed", range(6))
def test_a_random_failing_order_shrinks_to_one_constraint(seed: int) -> None:
    plan = Plan(programs.ungated(8))
    walk = RandomWalk(seed)
    outcome = next(found for found in iter(lambda: Execution(plan).run(walk), None) if found.has_failed)
    orders = turned_round(plan, outcome.choices)
    kept = fewest(plan, orders, lambda other: bool(other.stale))
    assert len(orders) >= len(kept) == 1
    assert Execution(plan).run(IssueOrder(kept)).stale


def test_two_constraints_are_kept_where_both_are_needed() -> None:
    plan = Plan(programs.ungated(2))
    turned = [Constraint(OpRef(1, layer + 1), OpRef(0, 2 * layer + 1)) for layer in range(2)]
    assert fewest(plan, turned, lambda other: len(other.stale) == 2) in ([turned[0]], turned)
    assert fewest(plan, turned, lambda other: len(other.stale) == 3) == []


def test_recorded_choices_give_the_same_execution() -> None:
    plan = Plan(programs.ungated(5))
    first = Execution(plan).run(RandomWalk(7))
    assert Execution(Plan(programs.ungated(5))).run(Replaying(first.choices)) == first


def test_choices_that_do_not_fit_are_told_with_their_step() -> None:
    with pytest.raises(ReplayDivergence, match="choice 2 of the replay"):
        Execution(Plan(programs.ungated(5))).run(Replaying([0, 7]))
