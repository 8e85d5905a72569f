"""A campaign: a list of jobs in, their records out, with nothing lost when it is interrupted.

Owns: which records of the log count, and that each new one is on the disk before anything else happens.
Does not own: running (`workers`), the file (`log`), what is made of records (`statistics` and the questions above it).
Floor 5. Source: ours.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from harness.search.job import Job
from harness.search.log import RunLog
from harness.search.record import RunRecord
from harness.search.source import source_fingerprint
from harness.search.workers import run_here, run_in_workers

Records = dict[str, RunRecord]
"""Records by the key of their job."""


@dataclass(frozen=True, slots=True)
class CampaignProgress:
    """How far a campaign has come. reused: runs that the log had already. latest: the run that ended last.

    foreign: runs of these jobs in the log that other source code has made, and that are not used.
    """

    jobs_total: int
    jobs_done: int
    reused: int
    foreign: int
    sessions_judged: int
    sessions_corrupted: int
    latest: RunRecord | None


@dataclass(frozen=True, slots=True)
class CampaignOptions:
    """Where the log lies and how many processes work.

    mixed_sources: records that other source code has made count as well.
    store: parent of the run folders; None keeps nothing but the records. A record whose folder is gone does not count.
    """

    folder: Path
    worker_count: int
    mixed_sources: bool = False
    store: Path | None = None

    def has_folder_of(self, record: RunRecord) -> bool:
        """Whether everything is there that is to be kept of a run."""
        return self.store is None or (record.run_name is not None and (self.store / record.run_name).is_dir())


def run_campaign(
    jobs: Sequence[Job],
    options: CampaignOptions,
    on_progress: Callable[[CampaignProgress], None] = lambda _: None,
    *,
    is_enough: Callable[[Records], bool] = lambda _: False,
) -> Records:
    """Run every job that the folder's log does not have yet; the same call goes on where an interrupted one ended.

    Args:
        is_enough: asked before the first run and after each, with all records so far; where it says so, the jobs that
            are left are not run, and those under way are given up.

    Effect: one line in the log for each run that ends, flushed before `on_progress` hears of it.
    Raises: JobRefused, WorkerLost, StorageProblem; KeyboardInterrupt on Ctrl-C. What the log has stays.
    """
    source = source_fingerprint()
    with RunLog(options.folder) as log:
        known = {record.key: record for record in log.records}
        # In two steps, so that where both kinds are in the log, this source's record wins.
        records = dict(known) if options.mixed_sources else {}
        records |= {record.key: record for record in log.records if record.source == source}
        wanted = {job.key: job for job in jobs}
        found = {key: record for key, record in records.items() if key in wanted and options.has_folder_of(record)}
        missing = [job for key, job in wanted.items() if key not in found]
        tally = _Tally(len(wanted), found, foreign=sum(job.key in known and job.key not in records for job in missing))
        on_progress(tally.progress)
        if missing and not is_enough(found):
            count, store = options.worker_count, options.store
            running = run_here(missing, source, store) if count == 1 else run_in_workers(missing, count, source, store)
            with closing(running) as finished:
                for record in finished:
                    log.append(record)
                    found[record.key] = record
                    on_progress(tally.add(record))
                    if is_enough(found):
                        break
        return found


class _Tally:
    def __init__(self, jobs_total: int, found: Records, foreign: int) -> None:
        judged = sum(record.sessions_judged for record in found.values())
        corrupted = sum(record.sessions_corrupted for record in found.values())
        self.progress = CampaignProgress(jobs_total, len(found), len(found), foreign, judged, corrupted, None)

    def add(self, record: RunRecord) -> CampaignProgress:
        before = self.progress
        self.progress = CampaignProgress(
            jobs_total=before.jobs_total,
            jobs_done=before.jobs_done + 1,
            reused=before.reused,
            foreign=before.foreign,
            sessions_judged=before.sessions_judged + record.sessions_judged,
            sessions_corrupted=before.sessions_corrupted + record.sessions_corrupted,
            latest=record,
        )
        return self.progress
