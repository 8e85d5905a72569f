"""A campaign with real runs: interrupted, continued, shared among processes, refused; always the same records."""

from __future__ import annotations

import multiprocessing
import signal
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from harness.search import campaign
from harness.search.campaign import CampaignOptions, CampaignProgress, Records, run_campaign
from harness.search.job import Job, jobs_of, load_arm
from harness.search.log import RunLog
from harness.search.record import RunRecord
from harness.search.workers import JobRefused, WorkerLost, run_in_workers
from tests.harness.search.record_builder import record_for
from tests.harness.tiny import TINY

# Workers start slowly on a busy machine.
pytestmark = pytest.mark.timeout(170)

_SOURCE = "of these tests"


def _arm_jobs(*seeds: int) -> list[Job]:
    # Three sessions do not fit on the device and still come back from the host tier; fewer are quicker.
    return jobs_of([load_arm(str(TINY), {"workload.sessions": "4"})], seeds)


def _outcomes(records: Records) -> dict[str, RunRecord]:
    """Without what depends on the machine that ran it."""
    return {key: replace(record, wall_s=0.0) for key, record in records.items()}


def _interrupt_after(count: int) -> Callable[[CampaignProgress], None]:
    def watch(progress: CampaignProgress) -> None:
        if progress.jobs_done == count:
            raise KeyboardInterrupt

    return watch


@pytest.fixture(scope="module", autouse=True)
def fixed_source() -> Iterator[str]:
    """Somebody may be working on the code while the tests run; these compare runs, not sources."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(campaign, "source_fingerprint", lambda: _SOURCE)
        yield _SOURCE


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Records:
    """Three jobs, run in this process, one after another, never interrupted."""
    return run_campaign(_arm_jobs(0, 1, 2), CampaignOptions(tmp_path_factory.mktemp("whole"), 1))


def test_runs_have_something_to_compare(finished: Records) -> None:
    """The other tests say little about records in which nothing happened."""
    records = list(finished.values())
    assert sum(record.sessions_corrupted for record in records) > 0
    assert all(record.load_backs and record.stale_reads and record.host_hit_turns for record in records)
    assert len({record.digest for record in records}) == 3
    for record in records:
        judged = sum(turns for turns, _ in record.turns_by_stale_layers.values())
        corrupted = sum(turns for _, turns in record.turns_by_stale_layers.values())
        # No session here reads pages of another one, so no turn is left out as poisoned.
        assert (judged, corrupted) == (record.turns_judged, record.turns_corrupted)


def test_interrupted_campaign_goes_on_where_it_ended(finished: Records, tmp_path: Path) -> None:
    options = CampaignOptions(tmp_path, 1)
    with pytest.raises(KeyboardInterrupt):
        run_campaign(_arm_jobs(0, 1, 2), options, _interrupt_after(2))
    with RunLog(tmp_path) as log:
        kept = [record.key for record in log.records]
    assert len(kept) == 2
    seen: list[CampaignProgress] = []
    again = run_campaign(_arm_jobs(0, 1, 2), options, seen.append)
    assert _outcomes(again) == _outcomes(finished)
    assert [(progress.jobs_done, progress.reused) for progress in seen] == [(2, 2), (3, 2)]


def test_workers_make_the_same_records(finished: Records, tmp_path: Path) -> None:
    """Other processes, another order, other neighbours in the memos."""
    assert _outcomes(run_campaign(_arm_jobs(2, 0, 1), CampaignOptions(tmp_path, 2))) == _outcomes(finished)
    assert multiprocessing.active_children() == []


def test_more_jobs_use_what_is_there(finished: Records, tmp_path: Path) -> None:
    with RunLog(tmp_path) as log:
        for record in finished.values():
            log.append(record)
    seen: list[CampaignProgress] = []
    run_campaign(_arm_jobs(0, 1, 2, 3), CampaignOptions(tmp_path, 1), seen.append)
    assert [(progress.jobs_total, progress.jobs_done) for progress in seen] == [(4, 3), (4, 4)]


def test_records_of_other_sources_count_only_when_asked_for(tmp_path: Path) -> None:
    (job,) = _arm_jobs(0)
    foreign = record_for(job, 3, source="another")
    with RunLog(tmp_path) as log:
        log.append(foreign)
    mixed = run_campaign([job], CampaignOptions(tmp_path, 1, mixed_sources=True))
    assert mixed == {job.key: foreign}
    seen: list[CampaignProgress] = []
    own = run_campaign([job], CampaignOptions(tmp_path, 1), seen.append)
    assert own[job.key].source == _SOURCE
    assert [progress.foreign for progress in seen] == [1, 1]
    # Where both are in the log, this source's record wins, whatever was asked for.
    assert run_campaign([job], CampaignOptions(tmp_path, 1, mixed_sources=True)) == own


@pytest.mark.parametrize("worker_count", [1, 2])
def test_job_that_cannot_run_is_named_and_the_rest_is_kept(tmp_path: Path, worker_count: int) -> None:
    """A pool just large enough for the sizes that are expected, and too small for those that were drawn."""
    jobs = _too_large_at_some_seed()
    with pytest.raises(JobRefused, match=r"tiny with .*, seed \d+: the last prompt of session") as caught:
        run_campaign(jobs, CampaignOptions(tmp_path, worker_count))
    assert caught.value.exit_code == 2
    assert multiprocessing.active_children() == []


def _too_large_at_some_seed() -> Sequence[Job]:
    spread = {
        "workload.tool_result_log_sigma": "1.2",
        "workload.tool_result_tokens_max": "4000",
        "workload.sessions": "3",
        "cache.device_tokens": "6800",
    }
    return jobs_of([load_arm(str(TINY), spread)], range(4))


def test_worker_that_was_killed_is_reported_with_its_job() -> None:
    running = run_in_workers(_arm_jobs(0, 1), 1, "source")
    assert next(running).seed == 0
    (child,) = multiprocessing.active_children()
    child.kill()
    with pytest.raises(WorkerLost, match=rf"tiny with .*=4, seed 1 was ended by signal {signal.SIGKILL}"):
        next(running)
    assert multiprocessing.active_children() == []


def test_abandoned_campaign_leaves_no_process() -> None:
    running = run_in_workers(_arm_jobs(0, 1, 2, 3), 2, "source")
    next(running)
    assert multiprocessing.active_children()
    running.close()
    assert multiprocessing.active_children() == []
