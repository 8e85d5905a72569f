"""Every specimen: found and named with its switches on, clean with them off; and the zoo as a whole.

Owns: `scenarios/zoo`, one test a specimen. Floor: tests. Source: issue "the zoo", facts/bugs.md section 2. What is
expected stands in the specimens and was written from the public threads, not from runs.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from harness.zoo.judge import judge, judge_fixed
from harness.zoo.table import reasons
from kernels.races.laws.breach import LawName
from kernels.races.naming.codes import Code
from kernels.races.search.explore import explore
from scenarios.zoo.left_out import LEFT_OUT, ROWS
from scenarios.zoo.registry import FOLDER, module_of, named, specimen_files, specimens
from scenarios.zoo.shape import faults_of
from scenarios.zoo.specimen import DEFECT, RaceClass, Specimen, expected
from tests.zoo.conftest import SEED, Judge

MANY = 1_000


def _name(path: Path) -> str:
    return path.stem


def _specimen(path: Path) -> Specimen:
    specimen = module_of(path).SPECIMEN
    assert isinstance(specimen, Specimen)
    return specimen


@pytest.mark.parametrize("path", specimen_files(), ids=_name)
def test_specimen_is_as_expected(path: Path, judged: Judge) -> None:
    one = judged(_specimen(path))
    assert not reasons(one), f"python run.py zoo --name {path.stem} --seed {SEED}"
    assert one.fixed.is_proved, "so small a program is exhausted"
    assert all(found.schedules for found in one.found)


@pytest.mark.parametrize("path", specimen_files(), ids=_name)
def test_record_is_complete(path: Path) -> None:
    assert not faults_of(_specimen(path), path)


@pytest.mark.slow
@pytest.mark.parametrize("path", specimen_files(), ids=_name)
def test_fix_is_clean_in_a_thousand_seeds(path: Path) -> None:
    fixed = judge_fixed(_specimen(path), MANY, 0)
    assert fixed.is_clean, fixed.why


def test_every_row_and_every_class_is_there() -> None:
    every = specimens()
    shown = {row for specimen in every for row in specimen.rows}
    assert shown | LEFT_OUT.keys() == {*ROWS}
    assert not shown & LEFT_OUT.keys()
    assert {specimen.race_class for specimen in every} == {*RaceClass}
    assert len({specimen.name for specimen in every}) == len(every)
    assert {path.name for path in FOLDER.iterdir() if path.is_dir() and path.name != "__pycache__"} == {
        kind.folder for kind in RaceClass
    }


@pytest.mark.parametrize("row", ["B04", "B08", "B14", "B16"])
def test_what_upstream_got_wrong_is_a_switch(row: str) -> None:
    assert any(specimen.wrong_fixes for specimen in specimens() if row in specimen.rows)


def test_programs_of_a_file_are_its_switches() -> None:
    """`race --program FILE:NAME` is how a specimen is looked at closely, so every switch must have its name there."""
    for path in specimen_files():
        module, specimen = module_of(path), _specimen(path)
        for name, switch in (("fixed", ""), *((switch, switch) for switch, _ in specimen.switches)):
            assert getattr(module, name).switch == switch, f"{path.stem} has no program '{name}'"


WRITE_MUST_NOT_HAPPEN = "retrieve_writes_the_shared_prefix"
"""The one specimen whose race no wait can mend: what is written is wrong at any time."""


def test_named_waits_close_what_they_name() -> None:
    """Each race is shown by ten replays of ten; a race that is alone is gone with its wait."""
    closed: dict[str, bool] = {}
    for specimen in specimens():
        if specimen.expected.codes:
            races = explore(specimen.program(DEFECT), budget=50, mend_schedules=20).races
            assert all(race.is_confirmed for race in races), specimen.name
            if len(races) == 1 and races[0].mend is not None:
                closed[specimen.name] = races[0].mend.is_closed
    assert len(closed) > 10
    assert [name for name, is_closed in closed.items() if not is_closed] == [WRITE_MUST_NOT_HAPPEN]


def test_another_expectation_is_told_with_the_name() -> None:
    specimen = named("index_k_without_gate")
    odd = replace(specimen, expected=expected(Code.WRONG_EVENT, stale=True, output=True))
    (what,) = reasons(judge(odd, "auto", 1, SEED))
    assert what.startswith("index_k_without_gate:defect expected WRONG_EVENT, stale, output; got LATE_WAIT")


def test_a_law_that_is_expected_and_silent_is_told() -> None:
    odd = replace(named("pinned_page_table"), expected=expected(Code.REUSE_BEFORE_COMPLETION, LawName.KEYS))
    assert "keys" in reasons(judge(odd, "auto", 1, SEED))[0]


@pytest.mark.parametrize("name", ["file_found_while_written", "parents_host_pool", "slot_not_cleared"])
def test_a_fix_that_is_not_clean_is_told_with_the_name(name: str) -> None:
    specimen = named(name)
    build = specimen.build
    unfixed = replace(specimen, build=lambda machine, _: build(machine, DEFECT))
    judged = judge(unfixed, "auto", 0, SEED)
    assert not judged.fixed.is_clean
    assert reasons(judged)[-1].startswith(f"{name}:fixed is not clean: ")


def test_random_schedules_alone_tell_of_an_unclean_fix() -> None:
    specimen = named("load_without_order")
    build = specimen.build
    fixed = judge_fixed(replace(specimen, build=lambda machine, _: build(machine, DEFECT)), 0, SEED)
    assert "random schedule" not in fixed.why, "the exploration speaks first"
    random = judge(specimen, "random", 0, SEED).found[0]
    assert random.schedules > 0
    assert random.is_expected
