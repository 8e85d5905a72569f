"""A failing order beside the nearest one that passes: the turned pair, and what the read saw.

Owns: `search.difference`, its words and JSON, equal steps in a search and a replay. Floor: tests.
Source: facts/concurrency.md section 4 (show only what differs).
"""

from __future__ import annotations

import json

import numpy as np

from kernels.races.report.as_json import exploration_json
from kernels.races.report.differing import difference_words
from kernels.races.report.text import exploration_text
from kernels.races.scheduler.plan import Plan
from kernels.races.search.difference import OrderDifference, StaleSight, difference
from kernels.races.search.explore import explore
from kernels.races.search.replay import replay, run_token
from kernels.races.search.result import RaceReport
from kernels.races.search.tokens import Token
from kernels.substrate.contract import Machine, Region, Write
from kernels.substrate.trace import MemoryTrace
from tests.races import programs

PAGES = np.array([2, 3], dtype=np.int64)


def overwritten(machine: Machine) -> None:
    """`new` writes pages 2 and 3 beside `reading`, which wrote older versions there itself."""
    pool = machine.buffer("pool", space="device:0", layer_count=1, page_count=8, page_bytes=64)
    region = Region(pool, (0,), PAGES)
    reading, writing = machine.stream("reading", device=0), machine.stream("writing", device=0)
    written = machine.event("written")
    old = [Write(region, np.array([3, 3], dtype=np.int64))]
    reading.launch("old", duration_ns=10, point="compute.layer", writes=old)
    reading.record(written)
    writing.wait(written)
    new = [Write(region, np.array([7, 8], dtype=np.int64))]
    writing.launch("new", duration_ns=10, point="compute.layer", writes=new)
    reading.launch("read", duration_ns=10, read_ns=10, point="compute.layer", reads=[region])


def the_race() -> RaceReport:
    (report,) = explore(overwritten, budget=100, mend_schedules=20).races
    return report


def test_only_the_racing_pair_is_turned_and_each_page_is_told_with_both_versions() -> None:
    report = the_race()
    assert report.difference is not None
    (pair,) = report.difference.turned
    assert (pair.first.label, pair.second.label) == ("new", "read")
    assert pair.second.end_ns < pair.first.start_ns
    assert pair.first_passing.end_ns < pair.second_passing.start_ns
    seen = [(sight.page, sight.promised, sight.front, sight.back) for sight in report.difference.sights]
    assert seen == [(2, 7, 3, 3), (3, 8, 3, 3)]


def test_words_give_both_orders_and_what_was_read() -> None:
    report = the_race()
    assert report.difference is not None
    words = difference_words(report.difference, report.group.shown.race)
    assert words.head == "from the nearest order that passes in 1 pair of conflicting operations"
    assert words.passing[0].startswith("#4 new ends at step ")
    assert words.failing[0].startswith("#5 read ends at step ")
    assert words.sees == (
        "#5 read sees pool[layer 0] page 2: version 3, promised version 7",
        "#5 read sees pool[layer 0] page 3: version 3, promised version 8",
    )
    result = explore(overwritten, budget=100, mend_schedules=20)
    assert f"           failing  {words.failing[0]}" in exploration_text(result).splitlines()
    plain = json.loads(json.dumps(exploration_json(result)))["races"][0]["difference"]
    assert [pair["labels"] for pair in plain["turned_pairs"]] == [["new", "read"]]
    assert [page["promised"] for page in plain["stale_pages"]] == [7, 8]


def test_torn_page_is_told_as_torn_and_bytes_from_before_the_program_as_such() -> None:
    report = the_race()
    read = report.group.shown.race.second.operation
    sights = (StaleSight(read, "pool", 0, 2, 7, 7, 3), StaleSight(read, "pool", 0, 3, 0, 0, 0))
    words = difference_words(OrderDifference((), sights, MemoryTrace()), report.group.shown.race)
    assert words.sees == (
        "#5 read sees pool[layer 0] page 2: torn, version 7 in front and version 3 behind, promised version 7",
        "#5 read sees pool[layer 0] page 3: what it held from the start, promised what its source held from the start",
    )


def test_program_that_fails_in_every_order_has_no_passing_one() -> None:
    plan = Plan(programs.forgotten_pool)
    failing = run_token(plan, Token(plan.hash))
    assert failing.outcome.has_failed
    assert difference(plan, Token(plan.hash), failing) is None


def test_steps_of_a_search_and_of_a_replay_are_numbered_alike() -> None:
    for program in (programs.gate_one_short(4), programs.last_ungated(3), overwritten):
        (report,) = explore(program, budget=200, mend_schedules=0).races
        assert report.trace is not None
        again = replay(program, str(report.token)).trace
        spans = [(row.ordinal, row.start_ns, row.end_ns) for row in report.trace.operations]
        assert [(row.ordinal, row.start_ns, row.end_ns) for row in again.operations] == spans
