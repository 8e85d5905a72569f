"""Served runs at full size with the detector reading along, several at a time, each kept as soon as it is over.

Owns: one such run as a record, the workers, going on where an earlier call ended. Does not own: runs (`harness`), arms,
tables. What was measured with other sources is not counted: the record says which.
"""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from functools import cache
from hashlib import blake2b
from multiprocessing import get_context
from pathlib import Path

from benchmarks.races.arms import RightArm
from benchmarks.races.stored import ROOT
from harness.simulation.run import RunRequest, Simulation, assembly_of, run_to_end
from kernels.engine.shared import SharedModel
from kernels.races.detector.detector import Detector

_SOURCES = (
    *(f"kernels/{room}" for room in ("arrays", "engine", "hicache", "races/detector", "substrate")),
    *(f"harness/{room}" for room in ("config", "load", "pair", "simulation", "transport")),
    "scenarios",
)


@dataclass(frozen=True, slots=True)
class ServedRun:
    """One run. rows: of its trace. loads: load-backs, without which nothing could have raced. pairs: unordered ones."""

    arm: str
    seed: int
    sessions: int
    revision: str
    rows: int
    loads: int
    pairs: int
    buffers: tuple[str, ...]
    problems: int
    cpu_s: float


@dataclass(frozen=True, slots=True)
class Job:
    arm: RightArm
    seed: int
    sessions: int


def revision() -> str:
    """Eight hex digits of the sources that a run depends on."""
    digest = blake2b(digest_size=4)
    for folder in _SOURCES:
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in (".py", ".toml"):
                digest.update(path.relative_to(ROOT).as_posix().encode())
                digest.update(path.read_bytes())
    return digest.hexdigest()


def serve(job: Job, revised: str) -> ServedRun:
    """Run it to its end. Runs in a worker process."""
    began_s = time.process_time()
    detector = Detector()
    simulation = Simulation(RunRequest(job.arm.load(job.sessions), job.seed, _shared(), None, "", detector))
    run_to_end(simulation)
    return ServedRun(
        arm=job.arm.name,
        seed=job.seed,
        sessions=job.sessions,
        revision=revised,
        rows=detector.row_count,
        loads=int(assembly_of(simulation).pair.counters()["load_backs"]),
        pairs=sum(1 + race.repeats for race in detector.races),
        buffers=tuple(sorted({race.buffer for race in detector.races})),
        problems=len(detector.problems),
        cpu_s=round(time.process_time() - began_s, 1),
    )


@cache
def _shared() -> SharedModel:
    """What the runs of one process have in common."""
    return SharedModel()


def runs_of(jobs: Sequence[Job], path: Path, revised: str) -> list[ServedRun]:
    """What the file has of these jobs, measured with these sources."""
    if not path.exists():
        return []
    wanted = {(job.arm.name, job.seed, job.sessions) for job in jobs}
    stored = (json.loads(line) for line in path.read_text().splitlines())
    runs = [ServedRun(**{**one, "buffers": tuple(one["buffers"])}) for one in stored]
    return [one for one in runs if one.revision == revised and _key(one) in wanted]


def serve_all(jobs: Sequence[Job], path: Path, workers: int, revised: str, note: Callable[[ServedRun], None]) -> None:
    """Run what is not there yet, and append each to the file."""
    there = {_key(one) for one in runs_of(jobs, path, revised)}
    missing = [job for job in jobs if (job.arm.name, job.seed, job.sessions) not in there]
    path.parent.mkdir(parents=True, exist_ok=True)
    for run in _served(missing, workers, revised):
        with path.open("a") as out:
            out.write(json.dumps(asdict(run)) + "\n")
        note(run)


def _served(jobs: Sequence[Job], workers: int, revised: str) -> Iterator[ServedRun]:
    """In the order in which they end. Left early (interrupted), what has not begun is given up."""
    if not jobs:
        return
    with ProcessPoolExecutor(workers, get_context("spawn"), _ends_at_once) as pool:
        waiting = [pool.submit(serve, job, revised) for job in jobs]
        try:
            for done in as_completed(waiting):
                yield done.result()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def _ends_at_once() -> None:
    """Ctrl-C ends a worker without a word: its run is begun again another time."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def _key(run: ServedRun) -> tuple[str, int, int]:
    return run.arm, run.seed, run.sessions
