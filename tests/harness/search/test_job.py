"""Jobs: a key names what is run, whatever it is called, and nothing else."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

from harness.search.job import Job, jobs_of, load_arm
from harness.search.source import source_fingerprint
from kernels.errors import ConfigError


def test_key_is_of_the_configuration_not_of_its_name(tmp_path: Path) -> None:
    copy = tmp_path / "other_name.toml"
    copy.write_text('extends = "base"\nsummary = "Another."\nexpect = "clean"\n', encoding="utf-8")
    base, renamed = load_arm("hicache_bf16"), load_arm(str(copy))
    assert renamed.scenario.name == "other_name"
    assert renamed.fingerprint == base.fingerprint
    assert load_arm("hicache_bf16", {"workload.sessions": "60"}).fingerprint == base.fingerprint


@pytest.mark.parametrize(
    "overrides", [{"workload.sessions": "59"}, {"delays.h2d.c4": "constant:1us"}, {"cost.jitter": "0.051"}]
)
def test_any_other_value_is_another_key(overrides: dict[str, str]) -> None:
    assert load_arm("hicache_bf16", overrides).fingerprint != load_arm("hicache_bf16").fingerprint


def test_cost_file_counts_by_its_content(tmp_path: Path) -> None:
    """The same path with another number in it is another experiment."""
    file = tmp_path / "mine.toml"
    text = Path("kernels/substrate/data/h200_pcie5.toml").read_text(encoding="utf-8")
    file.write_text(text, encoding="utf-8")
    before = load_arm("hicache_bf16", {"cost.file": str(file)}).fingerprint
    file.write_text(text.replace("value = 3.5", "value = 3.6"), encoding="utf-8")
    assert load_arm("hicache_bf16", {"cost.file": str(file)}).fingerprint != before


def test_job_survives_the_way_to_a_worker() -> None:
    job = Job(load_arm("hicache_fp8", {"delays.h2d.c4": "constant:1us"}), 4)
    again = pickle.loads(pickle.dumps(job))
    assert (again.key, again.arm.scenario) == (job.key, job.arm.scenario)
    assert str(again) == "hicache_fp8 with delays.h2d.c4=constant:1us, seed 4"


def test_equal_arms_are_run_once_and_seeds_stay_together() -> None:
    arms = [load_arm("hicache_bf16"), load_arm("off_bf16"), load_arm("hicache_bf16", {"workload.sessions": "60"})]
    jobs = jobs_of(arms, (5, 6))
    assert [(job.seed, job.arm.scenario.cache.hicache) for job in jobs] == [
        (5, True), (5, False), (6, True), (6, False),
    ]  # fmt: skip


def test_arm_is_checked_before_anything_runs() -> None:
    with pytest.raises(ConfigError, match=r"workload\.sessions = '0'"):
        load_arm("hicache_bf16", {"workload.sessions": "0"})


def test_source_changes_with_what_runs_and_not_with_what_shows(tmp_path: Path) -> None:
    for name in ("kernels/engine/a.py", "harness/cli/b.py", "results/report/c.py", "kernels/substrate/data/d.toml"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("one", encoding="utf-8")
    first = source_fingerprint(tmp_path)
    for name in ("harness/cli/b.py", "results/report/c.py"):
        (tmp_path / name).write_text("two", encoding="utf-8")
    assert source_fingerprint(tmp_path) == first
    seen = {first}
    for name in ("kernels/engine/a.py", "kernels/substrate/data/d.toml"):
        (tmp_path / name).write_text("two", encoding="utf-8")
        seen.add(source_fingerprint(tmp_path))
    assert len(seen) == 3
