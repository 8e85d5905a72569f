"""Axes have round ticks inside their ends, and scales hit both ends. Floor: tests."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from results.report.html.scales import Scale, log_span, rate_top
from results.report.ticks import log_ticks, round_step, short, ticks

_SPANS = st.tuples(st.floats(-1e6, 1e6), st.floats(1e-3, 1e6)).map(lambda pair: (pair[0], pair[0] + pair[1]))


@given(_SPANS, st.integers(2, 12))
def test_ticks_are_few_and_inside(span: tuple[float, float], most: int) -> None:
    low, high = span
    found = ticks(low, high, most)
    assert len(found) <= most + 1
    assert all(low - 1e-6 * (high - low) <= tick <= high + 1e-6 * (high - low) for tick in found)


def test_ticks_are_the_numbers_that_people_expect() -> None:
    assert ticks(0, 40, 8) == [0, 5, 10, 15, 20, 25, 30, 35, 40]
    assert ticks(0, 0.23, 5) == pytest.approx([0, 0.05, 0.1, 0.15, 0.2])
    assert [round_step(value) for value in (0.7, 1, 1.2, 3, 8, 0)] == [1, 1, 2, 5, 10, 1]
    assert log_ticks(0.02, 12) == pytest.approx([0.1, 1, 10])
    assert log_ticks(2, 30) == pytest.approx([2, 5, 10, 20])
    assert [short(value) for value in (0, 0.05, 3, 9_000, 12_000, 1.5e6)] == ["0", "0.05", "3", "9,000", "12k", "1.5M"]


def test_scales_hit_their_ends() -> None:
    assert [Scale(0, 10, 100, 200)(x) for x in (0, 5, 10)] == [100, 150, 200]
    assert Scale(1, 100, 0, 10, is_log=True)(10) == pytest.approx(5)
    assert Scale(3, 3, 0, 10)(3) == 5
    assert rate_top(0.001) == 0.05
    assert rate_top(0.99) == 1.0
    low, high = log_span([4.0, 5.0])
    assert low < 4
    assert high > 5
    assert high / low >= 3
