"""The vacuity gate: what was not exercised is said, each kind in its own sentence. Floor: tests."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from results.records import TurnRecord
from results.vacuity import Demands, Exercise, demands_of, exercise_of, not_exercised
from tests.results.builders import machine, manifest, said, turn

FULL = Exercise(
    turns=40,
    answered=40,
    overlap=8,
    cached_turns=30,
    host_hit_turns=9,
    load_backs=7,
    loaded_bytes=10**6,
    evictions=50,
)
ALL = Demands(4, 1, 1, 1, 1, 1)


def served(spans: list[tuple[int, int]], **changes: Any) -> list[TurnRecord]:
    return [
        turn(session, first_token_ns=begin, finished_ns=end, **changes) for session, (begin, end) in enumerate(spans)
    ]


def test_a_path_that_was_exercised_passes() -> None:
    assert not_exercised(FULL, ALL) is None
    assert not_exercised(replace(FULL, overlap=None, evictions=None), Demands(None)) is None


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"turns": 0, "answered": 0}, "no turn was run"),
        ({"answered": 0}, "none of 40 requests was answered: the server is dead"),
        ({"overlap": 1}, "the server worked on 1 request at a time"),
        ({"overlap": None}, "nobody can tell whether requests overlapped"),
        ({"cached_turns": 0}, "the cache is off or never hit"),
        ({"cached_turns": None}, "the server reports no cached tokens"),
        ({"load_backs": 0}, "nothing was loaded back"),
        ({"host_hit_turns": 0}, "no turn's prompt hit the host tier"),
        ({"loaded_bytes": 0}, "load-backs moved 0 bytes"),
        ({"evictions": 0}, "nothing was evicted"),
        ({"evictions": None}, "nobody counts evictions"),
    ],
)
def test_what_is_missing_is_said(changes: dict[str, int | None], sentence: str) -> None:
    said_of_it = not_exercised(replace(FULL, **changes), ALL)  # type: ignore[arg-type]
    assert said_of_it is not None
    assert sentence in said_of_it
    assert "clean" not in said_of_it


def test_a_dead_a_serial_and_an_uncached_server_get_three_sentences() -> None:
    dead = [said("", finish_reason=None, error="cannot be reached", first_token_ns=None, finished_ns=None)] * 4
    serial = served([(0, 10), (10, 20), (20, 30)])
    uncached = served([(0, 10), (1, 11), (2, 12)], cached_tokens=0)
    demands = Demands(overlap_min=2, cached_turns_min=1)
    sentences = {not_exercised(exercise_of(turns, {}), demands) for turns in (dead, serial, uncached)}
    assert len(sentences) == 3
    assert None not in sentences
    assert not_exercised(exercise_of(served([(0, 10), (1, 11)]), {}), demands) is None


@pytest.mark.parametrize(
    ("spans", "overlap"),
    [
        ([(0, 100), (100, 200)], 1),
        ([(0, 100), (95, 200)], 1),
        ([(0, 100), (50, 150), (60, 160)], 3),
        ([(0, 0), (0, 0)], None),
    ],
)
def test_overlap_is_seen_from_outside(spans: list[tuple[int, int]], overlap: int | None) -> None:
    assert exercise_of(served(spans), {}).overlap == overlap


def test_the_servers_gauge_and_the_machines_batches_say_more_than_the_outside() -> None:
    serial = served([(0, 10), (10, 20)])
    assert exercise_of(serial, {"running_max": 5}).overlap == 5
    assert exercise_of(served([(0, 9), (1, 8)]), {"running_max": 1}).overlap == 1
    assert exercise_of([replace(one, machine=machine(batch=3)) for one in serial], {}).overlap == 3


def test_a_run_demands_what_its_manifest_says() -> None:
    assert demands_of(manifest(session_count=1), FULL).overlap_min == 2, "a session alone cannot race with anybody"
    assert demands_of(manifest(), FULL) == Demands(overlap_min=2)
    tiered = manifest(requires_host_tier=True)
    assert demands_of(tiered, FULL) == Demands(2, None, 1, 1, 1, 1)
    assert demands_of(tiered, replace(FULL, evictions=None)).evictions_min is None
