"""How many right replies rule out chance: against the product that Fisher's test is when nothing is wrong alone."""

from __future__ import annotations

from math import prod

import pytest
from hypothesis import given
from hypothesis import strategies as st

from results.serial.chance import ALPHA, Replies, replies_to_rule_out


def all_under_load(loaded: Replies, alone: int) -> float:
    """The chance that all wrong replies, drawn from all places, fall on those under load."""
    return prod((loaded.count - place) / (loaded.count + alone - place) for place in range(loaded.wrong))


@given(st.integers(1, 400).flatmap(lambda count: st.builds(Replies, st.integers(1, min(count, 60)), st.just(count))))
def test_the_fewest_that_do(loaded: Replies) -> None:
    needed = replies_to_rule_out(loaded)
    assert all_under_load(loaded, needed) <= ALPHA * (1 + 1e-9)
    assert needed == 1 or all_under_load(loaded, needed - 1) > ALPHA * (1 - 1e-9)


@pytest.mark.parametrize(("wrong", "count", "needed"), [(1, 100, 1_900), (2, 144, 499), (10, 100, 34), (20, 144, 22)])
def test_in_numbers(wrong: int, count: int, needed: int) -> None:
    assert replies_to_rule_out(Replies(wrong, count)) == needed
