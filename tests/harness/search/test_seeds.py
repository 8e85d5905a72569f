"""Seeds as text: every form, its way back, and each mistake in one sentence."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.search.seeds import parse_seeds, seeds_text
from kernels.errors import ConfigError


@pytest.mark.parametrize(
    ("text", "seeds"),
    [
        ("3", (0, 1, 2)),
        ("100-102", (100, 101, 102)),
        ("7-7", (7,)),
        ("7,", (7,)),
        ("3, 5,8", (3, 5, 8)),
        ("9,0-2", (9, 0, 1, 2)),
    ],
)
def test_forms(text: str, seeds: tuple[int, ...]) -> None:
    assert parse_seeds(text) == seeds


@given(st.lists(st.integers(0, 10_000), min_size=1, max_size=20, unique=True))
def test_text_reads_back(seeds: list[int]) -> None:
    assert parse_seeds(seeds_text(tuple(seeds)) + ("," if len(seeds) == 1 else "")) == tuple(seeds)


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("0", "gives 0 seeds"),
        ("", "gives 0 seeds"),
        ("5-2", "the range 5-2 is empty"),
        ("1,x", "'x' is no seed"),
        ("-3", "'-3' is no seed"),
        ("1,2,1", "names the seed 1 twice"),
        ("0-999999", "1 to 100,000 can be run"),
        ("999999999999", "1 to 100,000 can be run"),
    ],
)
def test_mistakes(text: str, part: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_seeds(text)
    assert part in str(caught.value)
    assert "\n" not in str(caught.value)
