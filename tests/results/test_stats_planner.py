"""Sizes for claims, against enumeration and closed forms, and the command that shows them. Floor: tests."""

from __future__ import annotations

import json
from math import comb

import pytest
from scipy import stats

from harness.cli.main import main
from results.stats.planner import Dependence, PlanRow, plan_sessions
from results.stats.power import fisher_power, units_to_tell_apart
from results.stats.zero import zero_bound


def _rows(rate: float, **options: float) -> dict[Dependence, PlanRow]:
    return {row.dependence: row for row in plan_sessions(rate, **options).rows}  # type: ignore[arg-type]


@pytest.mark.parametrize(("first", "second"), [(0.0, 0.3), (0.1, 0.4), (0.5, 0.2)])
def test_the_power_is_the_sum_over_all_outcomes(first: float, second: float) -> None:
    units = 18
    told = sum(
        float(stats.binom.pmf(mine, units, first) * stats.binom.pmf(other, units, second))
        for mine in range(units + 1)
        for other in range(units + 1)
        if stats.fisher_exact([[mine, other], [units - mine, units - other]]).pvalue <= 0.05
    )
    assert fisher_power(first, second, units, alpha=0.05) == pytest.approx(told, abs=1e-8)


def test_a_clean_control_takes_six_events() -> None:
    """Six events against none: 2 C(n, 6) / C(2n, 6) < 5 %, five: more. So the size is that of seeing six."""
    units = units_to_tell_apart(0.0, 0.001, power=0.9, alpha=0.05)
    assert [2 * comb(units, k) / comb(2 * units, k) <= 0.05 for k in (5, 6)] == [False, True]
    assert stats.binom.sf(5, units, 0.001) >= 0.9
    assert stats.binom.sf(5, round(0.998 * units), 0.001) < 0.9


def test_the_quick_size_of_common_rates_has_the_power() -> None:
    units = units_to_tell_apart(0.20, 0.25, power=0.9, alpha=0.05)
    assert fisher_power(0.20, 0.25, units, alpha=0.05) == pytest.approx(0.9, abs=0.002)


def test_independent_sessions_by_hand() -> None:
    row = _rows(0.001)[Dependence.INDEPENDENT]
    assert (row.see_one.sessions, row.rule_out.sessions) == (2_302, 2_995)
    assert 0.999**2_302 <= 0.1 < 0.999**2_301
    assert (row.see_one.seeds, row.rule_out.seeds) == (39, 50)


def test_what_is_planned_is_what_the_zero_rules_out() -> None:
    rows = _rows(0.01, design_effect=2.1)
    seeds = rows[Dependence.DESIGN_EFFECT].rule_out.seeds
    bounds = [
        zero_bound(60 * count, clusters=count, design_effect=2.1).by_effect or 1.0 for count in (seeds - 1, seeds)
    ]
    assert bounds[1] <= 0.01 < bounds[0]
    worst = rows[Dependence.WHOLE_SEED].rule_out
    assert 0.99**worst.seeds <= 0.05 < 0.99 ** (worst.seeds - 1)
    assert worst.sessions == worst.seeds * 60


def test_dependence_always_costs() -> None:
    rows = list(_rows(0.02, design_effect=3.0, control_rate=0.001).values())
    for need in ("see_one", "rule_out", "tell_apart"):
        sizes = [getattr(row, need).sessions for row in rows]
        assert sizes == sorted(sizes)
        assert sizes[0] < sizes[1] < sizes[2]


def _shown(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert main(["plan", *words]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    return captured.out


def test_the_command_shows_the_plan(capsys: pytest.CaptureFixture[str]) -> None:
    lines = _shown(capsys, "--rate", "0.001", "--power", "0.9", "--have", "1200").splitlines()
    assert lines[0] == "PLAN  rate 0.1 %, power 0.9, confidence 0.95, 60 sessions a seed"
    assert " ".join(lines[3].split()) == "claim less than 0.1 % when none is seen 2,995 (50) 179,700 (2,995)"
    assert lines[6].startswith("HAVE  no corruption in 1,200 sessions of 20 seeds")
    assert lines[7].split() == ["independent", "0.25", "%"]
    assert lines[8].split() == ["worst", "case", "14", "%"]


def test_the_command_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    found = json.loads(_shown(capsys, "--rate", "0.01", "--design-effect", "2.1", "--have", "60", "--json"))
    assert [row["dependence"] for row in found["plan"]["rows"]] == ["independent", "design effect", "whole seed"]
    assert found["have"]["independent"] == pytest.approx(1 - 0.05 ** (1 / 60))
    assert json.loads(_shown(capsys, "--have", "60", "--json"))["plan"] is None


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ([], "nothing to plan: give --rate R (0.001 is 0.1 %), --have N, or both"),
        (["--rate", "nan"], "Invalid value for '--rate': nan is no number"),
        (["--have", "60", "--design-effect", "nan"], "Invalid value for '--design-effect': nan is no number"),
        (["--rate", "2"], "Invalid value for '--rate': 2.0 is not in the range"),
        (["--rate", "0.01", "--control-rate", "0.01"], "no size can tell them apart"),
        (["--rate", "0.01", "--design-effect", "61"], "seeds of 60 sessions have at most 60"),
        (["--have", "0"], "Invalid value for '--have': 0 is not in the range"),
    ],
)
def test_a_wrong_plan_is_one_sentence(words: list[str], sentence: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", *words]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert sentence in captured.err
    assert len(captured.err.splitlines()) == 1
