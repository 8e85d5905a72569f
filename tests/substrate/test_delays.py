"""Delays as text: what is read, what is refused and how it is said, and what the samples look like."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from kernels.errors import ConfigError
from kernels.substrate.choices import SeededChoices
from kernels.substrate.contract import Delay
from kernels.substrate.delays import DEFAULT_POINTS, DISTRIBUTIONS, delay_text, delays_by_point, parse_delay


@pytest.mark.parametrize(
    ("text", "delay"),
    [
        ("h2d.index_k=constant:200us", Delay("h2d.index_k", "constant", (200_000.0,))),
        ("h2d.c4=uniform:50us,1.5ms", Delay("h2d.c4", "uniform", (50_000.0, 1_500_000.0))),
        ("d2h.backup=exponential:2ms", Delay("d2h.backup", "exponential", (2_000_000.0,))),
        ("h2d.index_k=lognormal:200us,0.5", Delay("h2d.index_k", "lognormal", (200_000.0, 0.5))),
        ("compute.layer=lognormal:1s,0@0-3,7", Delay("compute.layer", "lognormal", (1e9, 0.0), (0, 1, 2, 3, 7))),
        (" handoff = constant : 0ns @ 5,1 ", Delay("handoff", "constant", (0.0,), (1, 5))),
        ("decode.step=constant:1e3ns", Delay("decode.step", "constant", (1_000.0,))),
    ],
)
def test_what_is_read(text: str, delay: Delay) -> None:
    assert parse_delay(text) == delay


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("h2d.indexk=constant:1us", ["'h2d.indexk' is not a delay point", "did you mean 'h2d.index_k'", "d2h.backup"]),
        ("h2d.index_k", ["no '='", "POINT=DISTRIBUTION"]),
        ("h2d.index_k=normal:1us,0.5", ["'normal' is not a delay distribution", "did you mean 'lognormal'", "uniform"]),
        ("h2d.index_k=lognormal:200us", ["lognormal takes median, sigma but got 1 value"]),
        ("h2d.index_k=constant:", ["constant takes duration but got 0 value"]),
        ("h2d.index_k=constant:200", ["no known time unit", "ns, us, ms, s"]),
        ("h2d.index_k=constant:200min", ["'200min' has no known time unit"]),
        ("h2d.index_k=constant:-5us", ["'-5us' is negative"]),
        ("h2d.index_k=lognormal:5us,-0.5", ["'-0.5' is negative"]),
        ("h2d.index_k=lognormal:5us,0.5us", ["'0.5us' is not a plain number"]),
        ("h2d.index_k=constant:fast", ["'fast' is not a time such as 200us"]),
        ("h2d.index_k=constant:nanus", ["'nanus' is not a time"]),
        ("h2d.index_k=uniform:5us,1us", ["low is above high"]),
        ("h2d.index_k=constant:5us@", ["'' is not a layer"]),
        ("h2d.index_k=constant:5us@a", ["'a' is not a layer or a range such as 0-5"]),
        ("h2d.index_k=constant:5us@7-3", ["layer range '7-3' is empty"]),
    ],
)
def test_what_is_refused_is_named(text: str, parts: list[str]) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_delay(text)
    assert caught.value.exit_code == 2
    for part in parts:
        assert part in str(caught.value)


def test_a_machine_refuses_delays_at_points_it_does_not_have() -> None:
    delay = parse_delay("h2d.index_k=constant:1us")
    with pytest.raises(ConfigError, match=r"'h2d\.index_k' is not a delay point; allowed: disk"):
        delays_by_point([delay], ["disk"])


numbers = st.integers(0, 10**12).map(float)
delays = st.one_of(
    st.builds(Delay, st.sampled_from(DEFAULT_POINTS), st.just("constant"), st.tuples(numbers)),
    st.builds(Delay, st.sampled_from(DEFAULT_POINTS), st.just("exponential"), st.tuples(numbers)),
    st.builds(
        Delay, st.sampled_from(DEFAULT_POINTS), st.just("uniform"), st.tuples(numbers, numbers).map(sorted).map(tuple)
    ),
    st.builds(
        Delay,
        st.sampled_from(DEFAULT_POINTS),
        st.just("lognormal"),
        st.tuples(numbers, st.integers(0, 40).map(lambda quarter: quarter / 4)),
        st.sets(st.integers(0, 60), max_size=5).map(sorted).map(tuple),
    ),
)


@settings(deadline=None, derandomize=True)
@given(delays)
def test_text_and_delay_are_the_same_thing(delay: Delay) -> None:
    assert parse_delay(delay_text(delay)) == delay


@pytest.mark.parametrize(
    ("text", "law"),
    [
        ("h2d.c4=uniform:1ms,3ms", stats.uniform(1e6, 2e6)),
        ("h2d.c4=exponential:2ms", stats.expon(0.0, 2e6)),
        ("h2d.c4=lognormal:200us,0.5", stats.lognorm(0.5, 0.0, 200e3)),
    ],
)
def test_samples_follow_the_distribution(text: str, law: stats.rv_frozen) -> None:
    choices, delay = SeededChoices(3), parse_delay(text)
    samples = np.array([choices.delay_ns("stream/h2d.c4", delay) for _ in range(4_000)])
    # Seeded, so the test either always passes or never; a wrong law is far below this.
    assert stats.kstest(samples, law.cdf).pvalue > 0.01


def test_every_distribution_has_a_sampler() -> None:
    for name, parameters in DISTRIBUTIONS.items():
        assert SeededChoices(0).delay_ns("key", Delay("handoff", name, (5.0,) * len(parameters))) >= 0
    assert SeededChoices(0).delay_ns("key", Delay("handoff", "lognormal", (5.0, 0.0))) == round(5.0 * math.exp(0.0))
