"""What becomes of a run: stored as it goes, kept when it is stopped, refused before it begins."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from harness.simulation.run import RunProgress, Simulation, run_to_end
from kernels.engine.shared import SharedModel
from kernels.errors import ConfigError
from results.reader import open_run
from results.records import RunManifest
from tests.harness.simulation.small_runs import Incident, simulation, small


def test_a_run_is_stored_and_read_back_whole(incident: Incident) -> None:
    result = incident.result
    run = open_run(Path(result.summary.run_dir))
    assert run.faults == ()
    assert not run.is_partial
    assert run.manifest == msgspec.json.decode(msgspec.json.encode(result.manifest), type=RunManifest)
    assert (run.manifest.seed, run.manifest.scenario, run.manifest.repeat) == (3, "hicache_bf16", "run it again")
    assert [turn.key for turn in run.turns] == [turn.key for turn in result.turns]
    assert [turn.machine for turn in run.turns] == [turn.machine for turn in result.turns]
    assert list(run.judgements) == result.judgements
    assert len(run.sessions) == 6


def test_without_a_store_nothing_is_written(
    shared: SharedModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = run_to_end(simulation(small("off_bf16", workload__sessions=2), shared))
    assert result.summary.run_dir == ""
    assert list(tmp_path.iterdir()) == []


def test_a_stopped_run_keeps_what_was_done(shared: SharedModel, incident: Incident, tmp_path: Path) -> None:
    running: list[Simulation] = []
    seen: list[RunProgress] = []

    def stop_after_four(progress: RunProgress) -> None:
        seen.append(progress)
        if progress.load.turns_ended == 4:
            running[0].stop()

    running.append(simulation(small("hicache_bf16"), shared, store=tmp_path, on_progress=stop_after_four))
    result = run_to_end(running[0])
    assert result.summary.partial
    assert 4 <= len(result.turns) < seen[-1].load.turns_total
    run = open_run(Path(result.summary.run_dir))
    assert run.is_partial
    assert run.manifest.partial
    assert len(run.turns) == len(run.judgements) == len(result.turns)
    # What was done before is what a whole run has done by then.
    replies = {turn.key: (turn.content, turn.tool_calls, turn.finished_ns) for turn in incident.result.turns}
    for turn in result.turns[:4]:
        assert replies[turn.key] == (turn.content, turn.tool_calls, turn.finished_ns)


def test_a_run_that_is_stopped_before_it_begins_has_nothing(shared: SharedModel) -> None:
    run = simulation(small("hicache_bf16"), shared)
    run.stop()
    result = run_to_end(run)
    assert result.summary.partial
    assert result.turns == []
    assert result.summary.exit_code() == 4


def test_progress_counts_to_the_end(incident: Incident) -> None:
    seen = incident.progress
    assert seen[-1].load.is_complete
    assert seen[-1].corrupted == incident.result.summary.turns_corrupted > 0
    counts = [progress.load.turns_ended for progress in seen]
    assert counts == sorted(counts)


def test_chunks_of_less_than_a_page_are_refused_before_anything_starts(shared: SharedModel) -> None:
    with pytest.raises(ConfigError, match=r"engine.chunk_tokens = 255 is less than one page of 256"):
        simulation(small("hicache_bf16", engine__chunk_tokens=255), shared)


@pytest.mark.parametrize("pool", ["cache.device_tokens", "cache.decode_tokens", "cache.host_tokens"])
def test_a_pool_that_is_too_small_is_refused_before_anything_starts(shared: SharedModel, pool: str) -> None:
    with pytest.raises(ConfigError, match=pool):
        simulation(small("hicache_bf16", **{pool.replace(".", "__"): 4_096}), shared)
