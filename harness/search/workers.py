"""Worker processes that run jobs, each with an interpreter and a memory of its own.

Owns: their start, the talk with them, their end, and the sentence when one dies. Does not own: what a job is, which
comes next (`schedule`), what becomes of records (`campaign`). Floor 5. Source: ours.

Workers are spawned, not forked: a fork would copy the locks of the parent's threads in whatever state they are.
"""

from __future__ import annotations

import signal
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing import connection, get_context
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path

from harness.search.job import Job
from harness.search.record import RunRecord
from harness.search.runner import JobRunner
from harness.search.schedule import Schedule
from kernels.errors import EnvironmentProblem, KVRaceError

_JOIN_S = 5.0


class JobRefused(KVRaceError):
    """A job could not be run, in the words of whoever refused it; its exit code is theirs, too."""

    def __init__(self, job: Job, sentence: str, exit_code: int) -> None:
        self.job = job
        self.exit_code = exit_code
        super().__init__(f"{job}: {sentence}")


class WorkerLost(EnvironmentProblem):
    """A worker was ended from outside, most often by the system for want of memory."""

    def __init__(self, job: Job, number: int) -> None:
        self.job = job
        super().__init__(
            f"the process that ran {job} was ended by signal {number}",
            remedy="if memory has run out, give --jobs a smaller number; the same command goes on where this one ended",
        )


@dataclass(frozen=True, slots=True)
class _Refusal:
    sentence: str
    exit_code: int


@dataclass(slots=True)
class _Worker:
    process: BaseProcess
    channel: Connection
    job: Job | None = None


def run_in_workers(
    jobs: Sequence[Job], worker_count: int, source: str, store: Path | None = None
) -> Generator[RunRecord, None, None]:
    """Run all jobs and give each record as soon as it is there, in whatever order that is.

    Args:
        source: of the code that makes the records. store: parent of the run folders; None keeps none.

    Effect: no worker outlives the iterator, however it ends; a run that was under way is lost then.
    Raises: JobRefused, WorkerLost; RuntimeError where a worker crashed (its traceback is on standard error).
    """
    schedule = Schedule(jobs)
    workers = [_start(source, store) for _ in range(min(worker_count, len(jobs)))]
    try:
        for number, worker in enumerate(workers):
            _hand_out(schedule, number, worker)
        while busy := {worker.channel: number for number, worker in enumerate(workers) if worker.job is not None}:
            for ready in connection.wait(list(busy)):
                assert isinstance(ready, Connection)
                worker = workers[busy[ready]]
                yield _answer(worker)
                _hand_out(schedule, busy[ready], worker)
    finally:
        _end(workers)


def run_here(jobs: Sequence[Job], source: str, store: Path | None = None) -> Generator[RunRecord, None, None]:
    """The same in this process: no start-up, and a debugger can look in."""
    schedule, runner = Schedule(jobs), JobRunner(source, store)
    while (job := schedule.next_for(0)) is not None:
        try:
            yield runner.run(job)
        except KVRaceError as refusal:
            raise JobRefused(job, str(refusal), refusal.exit_code) from refusal


def _start(source: str, store: Path | None) -> _Worker:
    context = get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_work, args=(theirs, source, store), daemon=True)
    with _deaf_to_interrupts():
        process.start()
    # Only the worker may hold its end: then its death closes the channel, and ours closes it for the worker.
    theirs.close()
    return _Worker(process, ours)


def _work(channel: Connection, source: str, store: Path | None) -> None:
    """The whole life of a worker: one job after another, until the parent has no more, or is gone."""
    runner = JobRunner(source, store)
    try:
        while (job := channel.recv()) is not None:
            try:
                answer: RunRecord | _Refusal = runner.run(job)
            except KVRaceError as refusal:
                answer = _Refusal(str(refusal), refusal.exit_code)
            channel.send(answer)
    except (EOFError, BrokenPipeError):
        return


def _hand_out(schedule: Schedule, number: int, worker: _Worker) -> None:
    worker.job = schedule.next_for(number)
    if worker.job is not None:
        # A worker that is dead already is found out when its answer is awaited.
        with suppress(BrokenPipeError):
            worker.channel.send(worker.job)


def _answer(worker: _Worker) -> RunRecord:
    assert worker.job is not None, "a worker without a job has nothing to say"
    try:
        answer = worker.channel.recv()
    except (EOFError, ConnectionResetError):
        worker.process.join(_JOIN_S)
        code = worker.process.exitcode
        if code is not None and code < 0:
            raise WorkerLost(worker.job, -code) from None
        raise RuntimeError(f"the process that ran {worker.job} has crashed (exit code {code})") from None
    if isinstance(answer, _Refusal):
        raise JobRefused(worker.job, answer.sentence, answer.exit_code)
    assert isinstance(answer, RunRecord), answer
    return answer


def _end(workers: Sequence[_Worker]) -> None:
    for worker in workers:
        worker.channel.close()
        if worker.job is not None:
            worker.process.terminate()
    for worker in workers:
        worker.process.join(_JOIN_S)
        if worker.process.is_alive():
            worker.process.kill()
            worker.process.join()


@contextmanager
def _deaf_to_interrupts() -> Iterator[None]:
    """Ctrl-C reaches every process of a terminal, and the parent decides what it means. A blocked signal is inherited:
    it is blocked in a worker from its first instruction on, and reaches the parent when this context ends."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
