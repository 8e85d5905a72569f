"""Sensitivity: every number moves by its step, alone, and the rows compare it with the base."""

from __future__ import annotations

import csv
import math
from pathlib import Path

import pytest

from harness.config import diff, load_scenario
from harness.search.job import load_arm
from harness.search.parameters import PARAMETERS, Parameter
from harness.search.sensitivity import plan_sensitivity, sensitivity_rows
from harness.search.sensitivity_files import sensitivity_table, write_sensitivity
from harness.simulation.assembly import cost_model
from kernels.errors import ConfigError
from tests.harness.search.record_builder import record_for

_KEYS = {
    "compute, fixed part": {"cost.compute_fixed_us"},
    "compute, slope": {"cost.compute_slope_us_per_token"},
    "host copy bandwidth": {"cost.bandwidth_scale"},
    "copy launch": {"cost.copy_launch_us"},
    "host enqueue": {"cost.host_enqueue_us"},
    "jitter": {"cost.jitter"},
    "largest batch": {"engine.batch_max"},
    "chunk of a prefill": {"engine.chunk_tokens"},
    "device pool": {"cache.device_tokens"},
    "host pool": {"cache.host_tokens"},
    "think time": {"workload.think_s"},
    "spread of starts": {"workload.start_spread_s"},
    "private first message": {"workload.first_message_tokens_min", "workload.first_message_tokens_max"},
    "tool result, median": {"workload.tool_result_log_mean"},
    "decode step": {"engine.decode_step_ms"},
    "scheduler step": {"engine.host_step_us"},
}


def test_list_is_complete() -> None:
    assert [parameter.name for parameter in PARAMETERS] == list(_KEYS)


@pytest.mark.parametrize("parameter", PARAMETERS, ids=lambda parameter: parameter.name)
def test_number_moves_by_its_step_and_alone(parameter: Parameter) -> None:
    base = load_scenario("hicache_bf16")
    for factor in (0.9, 1.1):
        moved = load_arm("hicache_bf16", parameter.moved(base, factor)).scenario
        assert set(diff(base, moved)) == _KEYS[parameter.name]
        # A batch of 16 becomes 14 or 18: counts are as near as they can be.
        assert parameter.value(moved) == pytest.approx(factor * parameter.value(base), rel=0.03)


def test_number_of_the_cost_file_is_the_one_that_moves() -> None:
    base = load_scenario("hicache_bf16")
    by_name = {parameter.name: parameter for parameter in PARAMETERS}
    moved = load_arm("hicache_bf16", by_name["host enqueue"].moved(base, 1.1)).scenario
    assert cost_model(moved).host.enqueue.value == pytest.approx(1.1 * cost_model(base).host.enqueue.value)
    moved = load_arm("hicache_bf16", by_name["host copy bandwidth"].moved(base, 0.9)).scenario
    assert cost_model(moved).gather_bandwidth == pytest.approx(0.9 * cost_model(base).gather_bandwidth)
    moved = load_arm("hicache_bf16", by_name["tool result, median"].moved(base, 1.1)).scenario
    assert math.exp(moved.workload.tool_result_log_mean) == pytest.approx(
        1.1 * math.exp(base.workload.tool_result_log_mean)
    )


def test_plan_has_two_steps_of_each_number_and_three_head_starts() -> None:
    plan = plan_sensitivity("hicache_bf16", (100, 101), {})
    kinds = [variant.kind for variant in plan.variants]
    assert (kinds.count("down"), kinds.count("up"), kinds.count("set")) == (16, 16, 3)
    assert [variant.arm.scenario.engine.head_start_us for variant in plan.variants[-3:]] == [3_000.0, 5_000.0, 7_000.0]
    assert len(plan.jobs) == (1 + 35) * 2


def test_override_holds_in_every_variant() -> None:
    plan = plan_sensitivity("hicache_bf16", (0,), {"cache.device_tokens": "800000"})
    pools = {variant.change: variant.value for variant in plan.variants if variant.parameter == "device pool"}
    assert pools == {"-10 %": 720_000.0, "+10 %": 880_000.0}
    others = {v.arm.scenario.cache.device_tokens for v in plan.variants if v.parameter != "device pool"}
    assert others == {800_000}


def test_step_that_breaks_the_scenario_is_refused_with_its_reason() -> None:
    with pytest.raises(ConfigError, match=r"does not fit into cache\.device_tokens = 36000"):
        plan_sensitivity("hicache_bf16", (0,), {}, step=0.96)


def test_rows_are_compared_with_the_base_by_seed(tmp_path: Path) -> None:
    plan = plan_sensitivity("hicache_bf16", (0, 1, 2), {})
    slow = next(variant for variant in plan.variants if variant.parameter == "host copy bandwidth")
    counts = {plan.base.fingerprint: (2, 3, 4), slow.arm.fingerprint: (4, 4, 6)}
    records = {job.key: record_for(job, counts.get(job.arm.fingerprint, (2, 3, 4))[job.seed]) for job in plan.jobs}
    base, rows = sensitivity_rows(plan, records)
    found = {(row.variant.parameter, row.variant.change): row.difference for row in rows}
    assert base.rate == pytest.approx(0.3)
    moved = found[("host copy bandwidth", "-10 %")]
    assert moved is not None
    assert moved.difference == pytest.approx((0.2 + 0.1 + 0.2) / 3)
    assert sum(1 for difference in found.values() if difference and difference.difference) == 1
    table = sensitivity_table(base, rows)
    assert table.count("\n") == 2 + 1 + 35
    assert "| +16.7 " in table
    write_sensitivity(tmp_path, plan, base, rows, "python run.py sensitivity")
    with (tmp_path / "sensitivity.csv").open(encoding="utf-8", newline="") as file:
        read = list(csv.DictReader(file))
    assert [row["parameter"] for row in read[:2]] == ["base", "compute, fixed part"]
    assert read[1]["overrides"] == "cost.compute_fixed_us=132.3"
    assert (tmp_path / "sensitivity.png").read_bytes().startswith(b"\x89PNG")
