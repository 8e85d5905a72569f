"""The planted targets: each changes one thing, the change still fits the code, and the served pair is wrong by it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from benchmarks.peers.naming import named
from benchmarks.peers.serve import scenario_of
from benchmarks.peers.targets import TARGETS, Target, target_named
from harness.config import load_scenario
from harness.config.views import diff
from harness.simulation.run import RunRequest, RunResult, Simulation, run_to_end
from kernels.engine.shared import SharedModel

PLANTED = [target for target in TARGETS if not target.is_sound]
RARE = "unpinned_before_sent"
"""In so few turns, and in virtual time, nobody may need the pages that it lets go too early."""
SMALL = {"workload.sessions": "4", "workload.turns_min": "2", "workload.turns_max": "2"}
SHARED = SharedModel()


def ended(target: Target, seed: int) -> RunResult:
    """One run in virtual time, with the target's change in place."""
    # One page of many is another session's, so it takes more turns until one is asked for what stood there.
    scenario = scenario_of(target, {} if target.name == "wrong_key" else SMALL)
    with target.planted() as ran:
        result = run_to_end(Simulation(RunRequest(scenario, seed, SHARED, None, "")))
    assert all(ran), f"{target.name}: the changed lines have not run"
    assert len(ran) == sum(len(change.pairs) for change in target.code)
    return result


def test_three_are_sound_and_each_planted_one_is_one_change() -> None:
    assert len(TARGETS) - len(PLANTED) == 3
    assert len(PLANTED) >= 6
    sound = scenario_of(target_named("sound"))
    for target in PLANTED:
        switches = diff(sound, scenario_of(target))
        assert len(switches) + bool(target.code) == 1, target.name


@pytest.mark.parametrize("target", [one for one in TARGETS if one.name != RARE], ids=lambda one: one.name)
def test_planted_ones_are_wrong_and_sound_ones_are_not(target: Target) -> None:
    wrong = sum(judgement.is_corrupted for judgement in ended(target, 1).judgements)
    assert (wrong > 0) == (not target.is_sound)


def test_bf16_spells_replies_in_another_way_and_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kernels.engine.numerics.TIED_SHARE", 1.0)

    def texts(name: str) -> list[tuple[str, ...]]:
        turns = sorted(ended(target_named(name), 1).turns, key=lambda turn: turn.key)
        return [tuple(call.arguments for call in turn.tool_calls) for turn in turns]

    exact, rounded = texts("sound"), texts("bf16")
    differ = [(one, other) for one, other in zip(exact, rounded, strict=True) if one != other]
    assert differ, "no near tie was decided by a batch"
    for (one,), (other,) in differ:
        assert one == other.replace('":  "', '": "')


def test_trace_names_the_missing_order_and_nothing_in_a_sound_pair() -> None:
    found = named(target_named("gate_missing"), 1, SMALL)
    assert "index_k" in found.report
    assert named(target_named("sound"), 1, SMALL).reports == 0


def test_laws_name_the_pool_that_was_left_behind_and_a_wrong_expectation_is_not_met() -> None:
    missing = named(target_named("missing_pool"), 1, SMALL)
    assert missing.report.startswith("companions: index_k")
    unmet = replace(target_named("missing_pool"), cause="no such event")
    assert not named(unmet, 1, SMALL).is_named


def test_pair_of_the_file_is_the_sound_one() -> None:
    scenario = load_scenario("benchmarks/peers/pair.toml")
    assert (scenario.expect, scenario.cache.gate_index_k, scenario.engine.numerics) == ("clean", True, "exact")
