"""Sweeps: the jobs of every cell, one row each, and files that say what was run."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from harness.search.axes import parse_axis
from harness.search.campaign import Records
from harness.search.sweep import Sweep, plan_sweep, sweep_rows
from harness.search.sweep_files import sweep_notes, sweep_table, write_sweep
from kernels.errors import ConfigError
from tests.harness.search.record_builder import record_for

_PNG = b"\x89PNG\r\n"


def _plan(axis: str = "sessions", values: tuple[str, ...] = ("10", "60"), scenarios: str = "hicache_bf16") -> Sweep:
    return plan_sweep(scenarios.split(","), parse_axis(axis), values, (0, 1), {})


def _records(sweep: Sweep, corrupted: dict[str, int]) -> Records:
    """So many corrupted sessions of ten, in each seed, for each override text that is named."""
    return {
        job.key: record_for(job, next((n for text, n in corrupted.items() if text in job.arm.overrides.values()), 0))
        for job in sweep.jobs
    }


def test_jobs_are_cells_times_seeds() -> None:
    sweep = _plan(scenarios="hicache_bf16,hicache_fp8", values=("10", "60"))
    assert len(sweep.jobs) == 2 * 2 * 2
    assert {(job.arm.scenario.name, job.arm.scenario.workload.sessions, job.seed) for job in sweep.jobs} == {
        (name, sessions, seed) for name in ("hicache_bf16", "hicache_fp8") for sessions in (10, 60) for seed in (0, 1)
    }


def test_rows_are_in_the_order_of_the_cells() -> None:
    sweep = _plan(values=("60", "10"))
    rows = sweep_rows(sweep, _records(sweep, {"60": 4, "10": 1}))
    assert [(row.cell.point.value, row.statistics.rate) for row in rows] == [("60", 0.4), ("10", 0.1)]


def test_override_that_contradicts_the_axis() -> None:
    with pytest.raises(ConfigError, match=r"workload\.sessions = 3 is set, but it is what --axis sessions varies"):
        plan_sweep(["hicache_bf16"], parse_axis("sessions"), ("10",), (0,), {"workload.sessions": "3"})


def test_value_that_does_not_fit_is_refused_before_anything_runs() -> None:
    with pytest.raises(ConfigError, match=r"does not fit into cache\.device_tokens = 10"):
        _plan("cache.device_tokens", ("900000", "10"))


def test_too_many_lines_for_one_figure() -> None:
    with pytest.raises(ConfigError, match="at most 7 scenarios"):
        _plan(scenarios=",".join(["hicache_bf16"] * 8))


def test_files_say_what_was_run(tmp_path: Path) -> None:
    sweep = _plan()
    rows = sweep_rows(sweep, _records(sweep, {"60": 4}))
    write_sweep(tmp_path, sweep, rows, "python run.py sweep")
    with (tmp_path / "sweep.csv").open(encoding="utf-8", newline="") as file:
        read = list(csv.DictReader(file))
    assert [(row["value"], float(row["x"]), float(row["rate"]), row["overrides"]) for row in read] == [
        ("10", 10.0, 0.0, "workload.sessions=10"),
        ("60", 60.0, 0.4, "workload.sessions=60"),
    ]
    text = (tmp_path / "sweep.md").read_text(encoding="utf-8")
    assert text.startswith("    python run.py sweep\n\n| sessions at once |")
    assert "| 40.0 %" in text
    assert "8 of 20" in text
    assert (tmp_path / "sweep.png").read_bytes().startswith(_PNG)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["sweep.csv", "sweep.md", "sweep.png"]


@pytest.mark.parametrize(("axis", "values"), [("cache.index_k", ("bf16", "fp8")), ("delay:h2d.c4", ("0us", "1ms"))])
def test_words_and_zeros_have_a_figure_too(tmp_path: Path, axis: str, values: tuple[str, ...]) -> None:
    sweep = _plan(axis, values, scenarios="hicache_bf16,off_bf16")
    write_sweep(tmp_path, sweep, sweep_rows(sweep, _records(sweep, {})), "command")
    assert (tmp_path / "sweep.png").read_bytes().startswith(_PNG)


def test_notes_name_the_cells_that_prove_nothing() -> None:
    sweep = _plan()
    records = _records(sweep, {"60": 4})
    few = [job for job in sweep.jobs if job.arm.scenario.workload.sessions == 10]
    idle = {job.key: record_for(job, verdict="unknown") for job in few}
    notes = sweep_notes(sweep, sweep_rows(sweep, records | idle))
    assert "prove nothing (no load-back, or few turns judged) at: 10.\n" in notes
    assert "prove nothing" not in sweep_notes(sweep, sweep_rows(sweep, records))


def test_notes_say_how_other_lengths_follow() -> None:
    sweep = _plan("prefix_tokens", ("2000",), scenarios="short_context")
    notes = sweep_notes(sweep, sweep_rows(sweep, _records(sweep, {})))
    cell = sweep.cells[0].arm.scenario
    assert f"2000: first message {cell.workload.first_message_tokens_max:,}," in notes
    assert f"device_tokens {cell.cache.device_tokens:,}" in notes


def test_scenario_has_a_column_where_there_are_several() -> None:
    sweep = _plan(scenarios="hicache_bf16,hicache_fp8")
    table = sweep_table(sweep, sweep_rows(sweep, _records(sweep, {})))
    assert table.splitlines()[0].startswith("| scenario")
    assert table.count("hicache_fp8") == 2
