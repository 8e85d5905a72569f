"""How many right turns rule out chance: against the product that Fisher's test is when nothing is wrong alone."""

from __future__ import annotations

from math import prod

import pytest
from hypothesis import given
from hypothesis import strategies as st

from results.serial.chance import ALPHA, Turns, fewest_turns


def all_under_load(loaded: Turns, alone: int) -> float:
    """The chance that all wrong turns, drawn from all places, fall on those under load."""
    return prod((loaded.count - place) / (loaded.count + alone - place) for place in range(loaded.wrong))


@given(st.integers(1, 400).flatmap(lambda count: st.builds(Turns, st.integers(1, min(count, 60)), st.just(count))))
def test_the_fewest_that_do(loaded: Turns) -> None:
    needed = fewest_turns(loaded)
    assert needed is not None
    assert all_under_load(loaded, needed) <= ALPHA * (1 + 1e-9)
    assert needed == 1 or all_under_load(loaded, needed - 1) > ALPHA * (1 - 1e-9)


@pytest.mark.parametrize(
    ("wrong", "count", "wrong_alone", "needed"),
    [(1, 100, 0, 1_900), (2, 144, 0, 499), (10, 100, 0, 34), (20, 144, 0, 22), (10, 100, 1, 56), (0, 100, 0, None)],
)
def test_in_numbers(wrong: int, count: int, wrong_alone: int, needed: int | None) -> None:
    assert fewest_turns(Turns(wrong, count), wrong_alone) == needed
