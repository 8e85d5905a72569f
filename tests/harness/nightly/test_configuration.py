"""The configuration of a night, its budget, and the registry of checks. Floor: tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.config import list_scenarios, load_scenario
from harness.nightly.budget import Budget, parse_budget, span_text
from harness.nightly.checks import REGISTRY
from harness.nightly.config import DEFAULT_CONFIG, load_config
from harness.nightly.regression import comparison_names
from harness.search.matrix import plan_matrix
from harness.search.matrix_figures import seeds_that_decide
from harness.search.seeds import parse_seeds
from kernels.errors import ConfigError
from tests.harness.nightly.nights import HandClock

_KNOWN = tuple(check.name for check in REGISTRY)


def _changed(tmp_path: Path, old: str, new: str) -> Path:
    text = DEFAULT_CONFIG.read_text(encoding="utf-8")
    assert old in text
    path = tmp_path / "night.toml"
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    return path


def test_the_shipped_configuration_can_be_run_and_decide_something() -> None:
    config = load_config(DEFAULT_CONFIG, _KNOWN)
    assert config.night.checks == _KNOWN, "every check that there is"
    plan = plan_matrix(config.matrix.arms, parse_seeds(config.matrix.seeds), config.settings)
    assert {arm.scenario.expect for arm in plan.arms.values()} == {"clean", "corruption"}
    names = comparison_names(config.matrix.arms, config.night.checks)
    assert len(plan.seeds) >= seeds_that_decide(len(names))
    assert load_scenario(config.race.scenario).expect == "corruption"
    assert load_scenario(config.prove.scenario).expect == "clean"
    assert "nightly" not in {line.name for line in list_scenarios()}


def test_settings_become_the_text_of_overrides(tmp_path: Path) -> None:
    path = _changed(tmp_path, "[settings]", '[settings]\n"cache.gate_index_k" = true\n"engine.batch_max" = 8\n'
                    '"cache.ungated" = ["c4", "swa"]')  # fmt: skip
    assert load_config(path, _KNOWN).settings == {
        "cache.gate_index_k": "true", "engine.batch_max": "8", "cache.ungated": "c4,swa",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ('"mutants"]', '"mutant"]', r":5: unknown check 'mutant' \(did you mean 'mutants'\?\); allowed: matrix, speed"),
        ('"mutants"]', '"prove"]', ":5: check 'prove' is named twice"),
        ('budget = "2h"', 'budget = "2 hours"', r":4: night\.budget = '2 hours' is no time; write hours"),
        ("keep_nights = 14", "keep_nights = 0", r":6: night\.keep_nights = 0: "),
        ("repeats = 5", "repeats = 1", r"speed\.repeats = 1: "),
        ("sessions = 60", 'sessions = "many"', r"matrix\.sessions = 'many': "),
        ("keep_nights", "keep_night", r":6: unknown key 'night\.keep_night' \(did you mean 'night\.keep_nights'\?\)"),
        ("[race]", "[races]", r"unknown key 'races\.scenario'"),
        ("seed = 22811\n", "", r"missing key 'speed\.seed'"),
        ("[night]", "[night", "not valid TOML"),
    ],
)
def test_mistakes_are_told_with_file_and_line(tmp_path: Path, old: str, new: str, sentence: str) -> None:
    path = _changed(tmp_path, old, new)
    with pytest.raises(ConfigError, match=sentence) as refused:
        load_config(path, _KNOWN)
    assert str(refused.value).startswith(str(path))


@pytest.mark.parametrize(
    ("text", "seconds"), [("2h", 7200), ("90m", 5400), ("1h30m", 5400), ("45s", 45), (" 1m1s ", 61)]
)
def test_budgets(text: str, seconds: int) -> None:
    assert parse_budget(text) == seconds


@pytest.mark.parametrize("text", ["", "0h", "2", "2x", "h", "-1h", "30m1h", "1.5h"])
def test_what_is_no_budget(text: str) -> None:
    with pytest.raises(ConfigError, match="is no time; write hours, minutes or seconds, such as 2h, 90m or 1h30m"):
        parse_budget(text)


def test_what_is_left_of_a_budget() -> None:
    clock = HandClock()
    budget = Budget(100, clock)
    clock.now_s += 30
    assert (budget.spent_s, budget.left_s) == (30, 70)
    clock.now_s += 100
    assert budget.left_s == 0
    assert [span_text(seconds) for seconds in (12.4, 89, 90, 5_399, 7_500)] == [
        "12 s", "89 s", "2 min", "1 h 30 min", "2 h 5 min",
    ]  # fmt: skip
