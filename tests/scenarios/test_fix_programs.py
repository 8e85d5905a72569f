"""The programs beside the catalogue: lapsed leases, a forgotten pool, a ring of one.

Owns: `scenarios/fixes/*.py` as programs, `forcing`, `identity`. Floor: tests. Source: facts/peers.md item 6, bugs.md
class 9.
"""

from __future__ import annotations

import statistics
from pathlib import Path

import pytest

from harness.cli.main import main
from kernels.races import Code, explore
from kernels.races.search.forcing import force_each
from kernels.races.search.replay import replay
from scenarios.fixes import forgotten_pool, lease, ring_of_one

FOLDER = Path(lease.__file__).parent


def test_forcing_finds_every_victim_and_chance_a_few() -> None:
    found = force_each(lease.program, random_schedules=300, seed=1)
    assert set(found.shown) == {f"read victim[{victim}]" for victim in range(lease.VICTIMS)}
    assert len(found.unordered) == lease.VICTIMS
    counts = [len(spoilt) for spoilt in found.by_chance]
    assert 0 < statistics.mean(counts) < lease.VICTIMS / 3, "chance finds some, and far from all"
    assert counts.count(0) > 30


def test_gated_twin_has_no_victim() -> None:
    found = force_each(lease.gated, random_schedules=300, seed=1)
    assert (found.unordered, found.shown) == ((), ())
    assert not any(found.by_chance)
    explore(lease.gated, budget=50, mend_schedules=0).assert_clean()


def test_a_forgotten_pool_is_no_race_and_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    result = explore(forgotten_pool.program, budget=50, mend_schedules=0)
    assert not result.is_unordered
    assert result.saw_stale_bytes
    assert not result.changed_output
    assert result.exhausted
    assert main(["race", "--program", f"{FOLDER / 'forgotten_pool.py'}", "--budget", "50"]) == 1
    first = capsys.readouterr().out.splitlines()[0]
    assert first.startswith("FAILS content: ordered, yet stale: pool device.index_k was not restored: page 0 holds")


def test_a_load_of_all_pools_is_clean() -> None:
    explore(forgotten_pool.restored, budget=50, mend_schedules=0).assert_clean()


def test_one_event_set_is_enough_where_records_come_first() -> None:
    explore(ring_of_one.records_first, budget=200, mend_schedules=0).assert_clean()


@pytest.mark.parametrize(
    ("program", "code"),
    [(ring_of_one.program, Code.WRONG_EVENT), (ring_of_one.late_three_sets, Code.UNARMED_WAIT)],
)
def test_late_records_are_caught_whatever_the_depth(program: object, code: Code) -> None:
    result = explore(program, budget=200, mend_schedules=50)  # type: ignore[arg-type]
    (report,) = result.races
    assert report.group.shown.code is code
    assert report.is_confirmed
    assert report.mend is not None
    assert report.mend.is_closed
    assert replay(program, str(report.token)).outcome.stale  # type: ignore[arg-type]
