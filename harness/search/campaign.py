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
    """

    folder: Path
    worker_count: int
    mixed_sources: bool = False


def run_campaign(
    jobs: Sequence[Job],
    options: CampaignOptions,
    on_progress: Callable[[CampaignProgress], None] = lambda _: None,
) -> Records:
    """Run every job that the folder's log does not have yet; the same call goes on where an interrupted one ended.

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
        found = {key: record for key, record in records.items() if key in wanted}
        missing = [job for key, job in wanted.items() if key not in found]
        tally = _Tally(len(wanted), found, foreign=sum(job.key in known for job in missing))
        on_progress(tally.progress)
        if missing:
            count = options.worker_count
            running = run_here(missing, source) if count == 1 else run_in_workers(missing, count, source)
            with closing(running) as finished:
                for record in finished:
                    log.append(record)
                    found[record.key] = record
                    on_progress(tally.add(record))
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
