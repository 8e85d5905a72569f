"""Axes: what each value changes, and that a context length is the one which is then sent."""

from __future__ import annotations

import pytest

from harness.config import diff, load_scenario
from harness.load.workload import build_workload
from harness.search.axes import parse_axis, parse_values
from harness.search.job import load_arm
from harness.simulation.assembly import cost_model
from kernels.engine.prompt import PromptReader
from kernels.errors import ConfigError


@pytest.mark.parametrize(
    ("axis", "value", "x", "changes"),
    [
        ("sessions", "7", 7.0, {"workload.sessions": 7}),
        ("delay:h2d.index_k", "150us", 150.0, {"delays.h2d.index_k": "constant:150us"}),
        ("delay:h2d.index_k", "1.5ms", 1_500.0, {"delays.h2d.index_k": "constant:1.5ms"}),
        ("delay:d2h.backup", "0us", 0.0, {"delays.d2h.backup": "constant:0us"}),
        ("cost.jitter", "0.2", 0.2, {"cost.jitter": 0.2}),
        ("cache.index_k", "fp8", None, {"cache.index_k": "fp8"}),
    ],
)
def test_value_changes_its_key_alone(axis: str, value: str, x: float | None, changes: dict[str, object]) -> None:
    base = load_scenario("hicache_bf16")
    point = parse_axis(axis).point(value, base)
    assert (point.value, point.x) == (value, x)
    changed = diff(base, load_arm("hicache_bf16", point.overrides).scenario)
    assert {key: right for key, (_, right) in changed.items()} == changes


def test_bandwidth_is_that_of_a_load_and_its_present_value_changes_nothing() -> None:
    base = load_scenario("hicache_bf16")
    axis = parse_axis("bandwidth")
    now_gbps = cost_model(base).gather_bandwidth
    same = load_arm("hicache_bf16", axis.point(f"{now_gbps:.9g}", base).overrides)
    assert same.fingerprint == load_arm("hicache_bf16").fingerprint
    half = load_arm("hicache_bf16", axis.point(f"{now_gbps / 2:.9g}", base).overrides)
    assert cost_model(half.scenario).gather_bandwidth == pytest.approx(now_gbps / 2)


@pytest.mark.parametrize("value", ["1600", "4000", "16000"])
def test_context_is_what_the_last_turn_sends(value: str) -> None:
    base = load_scenario("short_context")
    point = parse_axis("prefix_tokens").point(value, base)
    scenario = load_arm("short_context", point.overrides, {"workload.sessions": "5"}).scenario
    workload = build_workload(scenario.workload, 3, PromptReader().count_tokens)
    sent = [plan.prompt_tokens(len(plan.turns) - 1) for plan in workload.sessions]
    assert sum(sent) / len(sent) == pytest.approx(float(value), rel=0.06)
    before = base.cache.device_tokens / _longest(base.workload.first_message_tokens_max)
    assert scenario.cache.device_tokens / float(value) == pytest.approx(before, rel=0.06)


def _longest(first_message_tokens: int) -> float:
    # The rest of a context of `short_context`, as its file has it: system, two turns of about 147 tokens.
    return 400 + first_message_tokens + 2 * 147


def test_context_without_room_names_the_scenario_and_what_takes_it() -> None:
    with pytest.raises(ConfigError, match=r"context of 900 tokens has no room.*hicache_bf16.*try --scenario"):
        parse_axis("prefix_tokens").point("900", load_scenario("hicache_bf16"))


@pytest.mark.parametrize(
    ("axis", "part"),
    [
        ("sesions", "did you mean 'sessions'"),
        ("cache.device_token", "did you mean 'cache.device_tokens'"),
        ("summary", "unknown axis"),
        ("delay:h2d.indexk", "did you mean 'h2d.index_k'"),
        ("delay:", "is not a delay point"),
    ],
)
def test_unknown_axis(axis: str, part: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_axis(axis)
    assert part in str(caught.value)
    assert caught.value.allowed


@pytest.mark.parametrize(
    ("axis", "value"),
    [
        ("delay:h2d.index_k", "5"),
        ("delay:h2d.index_k", "5h"),
        ("delay:h2d.index_k", "lognormal:5us"),
        ("prefix_tokens", "many"),
        ("prefix_tokens", "-5"),
        ("bandwidth", "0"),
        ("bandwidth", "fast"),
    ],
)
def test_value_that_is_none_on_its_axis(axis: str, value: str) -> None:
    with pytest.raises(ConfigError, match=f"'{value}' is not"):
        parse_axis(axis).point(value, load_scenario("hicache_bf16"))


def test_values() -> None:
    assert parse_values("1, 10,60") == ("1", "10", "60")
    for text, part in [("1,,2", "empty value"), ("", "empty value"), ("1,2,1", "names 1 twice")]:
        with pytest.raises(ConfigError, match=part):
            parse_values(text)
