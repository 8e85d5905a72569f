"""Arms: the standard five, and what they say together."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from harness.config import load_scenario
from harness.search.arm_files import arms_notes, arms_object, stale_layer_table, write_arms
from harness.search.arms import STANDARD_ARMS, ArmPlan, ArmTable, arm_table, plan_arms
from harness.search.campaign import Records
from kernels.errors import ConfigError
from tests.harness.search.record_builder import record_for

_CORRUPTED = {"hicache_bf16": (4, 2, 3), "hicache_fp8": (1, 2, 1)}
_HOST_HIT_TURNS = {"hicache_bf16": 20, "hicache_fp8": 20, "hicache_bf16_gated": 21}


def _records(plan: ArmPlan) -> Records:
    return {
        job.key: record_for(
            job,
            _CORRUPTED.get(job.arm.scenario.name, (0, 0, 0))[job.seed],
            host_hit_turns=_HOST_HIT_TURNS.get(job.arm.scenario.name, 0),
        )
        for job in plan.jobs
    }


def _table(*scenarios: str) -> ArmTable:
    plan = plan_arms(scenarios, (0, 1, 2), {})
    return arm_table(plan, _records(plan))


def test_standard_arms_are_the_two_formats_the_fix_and_no_host_tier() -> None:
    caches = [load_scenario(name).cache for name in STANDARD_ARMS]
    assert [(cache.index_k, cache.hicache, cache.hicache and cache.gate_index_k) for cache in caches] == [
        ("bf16", True, False),
        ("fp8", True, False),
        ("bf16", True, True),
        ("bf16", False, False),
        ("fp8", False, False),
    ]
    assert len(plan_arms(STANDARD_ARMS, (0, 1), {}).jobs) == 10


def test_table_of_all_arms() -> None:
    table = _table(*STANDARD_ARMS)
    assert [(row.scenario, row.statistics.sessions_corrupted) for row in table.rows] == [
        ("hicache_bf16", 9), ("hicache_fp8", 4), ("hicache_bf16_gated", 0), ("off_bf16", 0), ("off_fp8", 0),
    ]  # fmt: skip
    assert table.rows[0].rates == {0: 0.4, 1: 0.2, 2: 0.3}
    assert table.formats is not None
    assert table.formats.difference == pytest.approx((0.3 + 0.0 + 0.2) / 3)
    assert table.host_hit_ratio == pytest.approx(21 / 20)
    notes = arms_notes(table)
    assert "hicache_bf16 minus hicache_fp8: 16.7 points" in notes
    assert "higher in 2 and lower in 0 of 3 seeds" in notes
    assert "ungated" not in notes
    assert "to that of hicache_bf16: 1.050." in notes


def test_comparisons_need_their_arms() -> None:
    table = _table("hicache_fp8", "off_fp8")
    assert (table.formats, table.host_hit_ratio) == (None, None)
    assert "minus" not in arms_notes(table)


def test_another_bug_is_said_out_loud() -> None:
    plan = plan_arms(("off_bf16",), (0, 1), {})
    clean = arm_table(plan, _records(plan))
    assert "another bug" not in arms_notes(clean)
    odd = arm_table(plan, {job.key: record_for(job, at_rest_mismatches=1) for job in plan.jobs})
    assert "off_bf16: 0 stale reads by decode and 2 loaded pages" in arms_notes(odd)


def test_layers_are_shown_for_arms_that_have_any() -> None:
    plan = plan_arms(("hicache_bf16", "off_bf16"), (0, 1), {})
    layers = {"hicache_bf16": {0: (30, 0), 11: (6, 1), 21: (4, 4)}, "off_bf16": {0: (40, 0)}}
    records = {job.key: record_for(job, turns_by_stale_layers=layers[job.arm.scenario.name]) for job in plan.jobs}
    lines = stale_layer_table(arm_table(plan, records)).splitlines()
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]
    assert cells == [
        ["hicache_bf16", "0", "60", "0", "0.0 %"],
        ["hicache_bf16", "11", "12", "2", "16.7 %"],
        ["hicache_bf16", "21", "8", "8", "100.0 %"],
    ]


def test_files(tmp_path: Path) -> None:
    table = _table(*STANDARD_ARMS)
    write_arms(tmp_path, table, "python run.py arms")
    assert json.loads((tmp_path / "arms.json").read_text(encoding="utf-8")) == json.loads(
        json.dumps(arms_object(table))
    )
    assert (tmp_path / "arms.csv").read_text(encoding="utf-8").count("\n") == 6
    assert "| hicache_bf16_gated | 0.0 %" in (tmp_path / "arms.md").read_text(encoding="utf-8")
    assert (tmp_path / "arms.png").read_bytes().startswith(b"\x89PNG")


def test_arm_named_twice() -> None:
    with pytest.raises(ConfigError, match="names off_bf16 twice"):
        plan_arms(("off_bf16", "off_fp8", "off_bf16"), (0,), {})
