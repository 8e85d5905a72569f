"""Running one job in this process.

Owns: what jobs of one process share. Does not own: the order of jobs (`schedule`), other processes (`workers`).
Floor 5.
"""

from __future__ import annotations

import gc
from pathlib import Path

from harness.search.job import Job
from harness.search.record import RunRecord, record_of
from harness.simulation.run import RunRequest, Simulation, run_to_end
from kernels.engine.shared import SharedModel


class JobRunner:
    """Runs jobs one after another; consecutive jobs of one seed share their tokenised texts, pages and memos."""

    def __init__(self, source: str, store: Path | None = None) -> None:
        """store: parent of the run folders; None keeps nothing but the records."""
        self._source = source
        self._store = store
        self._seed: int | None = None
        self._shared = SharedModel()

    def __repr__(self) -> str:
        return f"JobRunner(source={self._source}, seed={self._seed})"

    def run(self, job: Job) -> RunRecord:
        """Raises: KVRaceError where the job cannot be run; the errors of a broken simulation as they are."""
        if job.seed != self._seed:
            # Another seed sends other text: what the last one left would only fill the memory.
            self._seed, self._shared = job.seed, SharedModel()
        arm = job.arm
        request = RunRequest(
            arm.scenario, job.seed, self._shared, store=self._store, repeat=job.repeat, backend=arm.backend
        )
        record = record_of(job, run_to_end(Simulation(request)), self._source)
        # A machine's parts point at each other, so that only the collector frees them, and it comes by too rarely for
        # the gigabyte that they hold.
        gc.collect()
        return record
