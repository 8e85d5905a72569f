"""The order of jobs: each once, a seed with one worker, nobody idle while there is work."""

from __future__ import annotations

from collections import Counter, defaultdict

from hypothesis import given
from hypothesis import strategies as st

from harness.search.job import Job, load_arm
from harness.search.schedule import Schedule

_ARM = load_arm("hicache_bf16")


def _jobs(jobs_by_seed: list[int]) -> list[Job]:
    return [Job(_ARM, seed) for seed, count in enumerate(jobs_by_seed) for _ in range(count)]


@given(st.lists(st.integers(1, 5), max_size=6), st.lists(st.integers(0, 3), max_size=60))
def test_every_job_once_whoever_asks(jobs_by_seed: list[int], asking: list[int]) -> None:
    schedule = Schedule(_jobs(jobs_by_seed))
    given_out = [job for worker in asking if (job := schedule.next_for(worker)) is not None]
    given_out += list(iter(lambda: schedule.next_for(9), None))
    assert Counter(job.seed for job in given_out) == dict(enumerate(jobs_by_seed))


def test_seed_stays_with_its_worker_while_there_are_others() -> None:
    schedule = Schedule(_jobs([3, 3]))
    workers: dict[int, set[int]] = defaultdict(set)
    for _ in range(3):
        for worker in (0, 1):
            job = schedule.next_for(worker)
            assert job is not None
            workers[worker].add(job.seed)
    assert workers == {0: {0}, 1: {1}}
    assert schedule.next_for(0) is None


def test_idle_worker_takes_over_from_whoever_has_most() -> None:
    schedule = Schedule(_jobs([2, 5]))
    assert [schedule.next_for(0), schedule.next_for(1)] != [None, None]
    assert schedule.next_for(0) is not None
    # Worker 0 has run out of its own; worker 1 still has four of seed 1.
    taken = schedule.next_for(0)
    assert taken is not None
    assert taken.seed == 1


def test_seeds_begin_in_order() -> None:
    """So that an interrupted campaign has whole seeds."""
    schedule = Schedule(_jobs([2, 2, 2]))
    assert [job.seed for job in iter(lambda: schedule.next_for(0), None)] == [0, 0, 1, 1, 2, 2]
