"""The shipped scenarios: one parameter set, and arms that differ in their named switches only.

Owns: `scenarios/*.toml` as they lie in the repository. Floor: tests.
"""

from __future__ import annotations

import tomllib
from typing import get_args, get_type_hints

import pytest

from harness.config import SCENARIOS_DIR, CacheConfig, diff, list_scenarios, load_scenario
from harness.config.fields import allowed_values, known_types
from kernels.errors import ConfigError
from kernels.hicache.geometry import POOL_KINDS, preset_names
from kernels.hicache.paths import Io, Layout
from kernels.hicache.sizing import IndexFormat
from kernels.hicache.spec import WritePolicy
from kernels.hicache.variant import IndexStore

SWITCHES = {
    "hicache_bf16": {},
    "hicache_fp8": {"cache.index_k": "fp8"},
    "hicache_bf16_gated": {"cache.gate_index_k": True},
    "hicache_bf16_fused": {"cache.index_k_store": "fused"},
    "off_bf16": {"cache.hicache": False},
    "off_fp8": {"cache.index_k": "fp8", "cache.hicache": False},
}


def test_every_scenario_is_listed_and_has_a_verdict() -> None:
    lines = {line.name: line for line in list_scenarios()}
    assert set(SWITCHES) <= set(lines)
    assert "base" not in lines
    for line in lines.values():
        scenario = load_scenario(line.name)
        assert (scenario.name, scenario.summary, scenario.expect) == (line.name, line.summary, line.expect)
        assert line.summary.endswith(".")
    assert {name for name, line in lines.items() if line.expect == "corruption"} >= {"hicache_bf16", "hicache_fp8"}


@pytest.mark.parametrize("name", SWITCHES)
def test_arms_differ_in_their_switches_only(name: str) -> None:
    changed = diff(load_scenario("hicache_bf16"), load_scenario(name))
    assert {key: right for key, (_, right) in changed.items()} == SWITCHES[name]


def test_arms_write_nothing_but_switches() -> None:
    for name in SWITCHES:
        table = tomllib.loads((SCENARIOS_DIR / f"{name}.toml").read_text(encoding="utf-8"))
        assert set(table) == {"extends", "summary", "expect", "cache"}
        assert table["extends"] == "base"
        assert set(table["cache"]) <= {"index_k", "hicache", "gate_index_k", "index_k_store"}


def test_choices_are_those_of_the_machine() -> None:
    hints = get_type_hints(CacheConfig)
    assert get_args(hints["preset"]) == preset_names()
    assert get_args(hints["layout"]) == get_args(Layout)
    assert get_args(hints["io"]) == get_args(Io)
    assert get_args(hints["write_policy"]) == get_args(WritePolicy)
    assert set(get_args(hints["index_k"])) == set(get_args(IndexFormat)) & {"bf16", "fp8"}
    assert set(get_args(hints["index_k_store"])) == set(get_args(IndexStore))
    assert set(allowed_values(known_types()["cache.ungated"])) <= set(POOL_KINDS)


def test_base_is_not_a_scenario() -> None:
    with pytest.raises(ConfigError, match="missing key 'summary'"):
        load_scenario("base")
