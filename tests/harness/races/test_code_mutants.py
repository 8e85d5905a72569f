"""Mutants of the cache's code: they change what they say, they are seen for what they are, and scenes need every order.

Owns: `harness.races.mutants`, docs/mutants.md. Floor: tests. Source: facts/sglang.md section 2; peers.md section 3, 5.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from harness.config import load_scenario
from harness.races.mutants.catalogue import MUTANTS
from harness.races.mutants.code_mutant import CodeMutant
from harness.races.mutants.edges import ORDERS
from harness.races.mutants.judging import judge, unclean_scene
from harness.races.mutants.patching import ChangeRefused, changed
from harness.races.mutants.scenes import SCENES, Scene
from harness.races.mutants.workbench import Workbench
from harness.simulation.assembly import cost_model, pair_spec
from kernels.hicache.gate import LayerGate
from kernels.hicache.statistics import Statistics
from kernels.races.search.killing import Fate
from kernels.substrate.contract import HostProgram
from kernels.substrate.virtual.machine import VirtualMachine

PAGE = Path(__file__).resolve().parents[3] / "docs" / "mutants.md"
CLEAN = load_scenario("hicache_bf16_gated")
BY_NAME = {(one.target, one.what): one for one in MUTANTS}


def scene(name: str) -> Scene:
    return next(one for one in SCENES if one.name == name)


def mutant(target: str, what: str) -> CodeMutant:
    return BY_NAME[target, what]


# Patching


def test_every_change_fits_the_code_and_is_taken_out_again() -> None:
    for one in MUTANTS:
        for _ in range(2):
            with changed(f"kernels.hicache.{one.target}", one.changes) as ran:
                assert ran == [False] * len(one.changes)


def test_changed_function_runs_for_whoever_holds_it_and_says_so() -> None:
    gate = LayerGate.set_consumer

    class Ring:
        depth = 3

    def consumer() -> int:
        one = LayerGate(Ring())  # type: ignore[arg-type]
        gate(one, 2)
        return one.consumer

    with changed(
        "kernels.hicache.gate:LayerGate.set_consumer", (("self.consumer = index", "self.consumer = 0"),)
    ) as ran:
        assert not any(ran)
        assert consumer() == 0
        assert all(ran)
    assert consumer() == 2


def test_change_is_taken_out_after_a_failure_too() -> None:
    code = LayerGate.wait.__code__
    with (
        pytest.raises(ZeroDivisionError),
        changed("kernels.hicache.gate:LayerGate.wait", (("self.consumer !=", "1 // 0 !="),)),
    ):
        LayerGate.wait(LayerGate(None), None, 0)  # type: ignore[arg-type]
    assert LayerGate.wait.__code__ is code


@pytest.mark.parametrize("old", ["no such text", "self"])
def test_text_that_is_not_there_once_is_refused(old: str) -> None:
    with (
        pytest.raises(ChangeRefused, match="times, not once"),
        changed("kernels.hicache.gate:LayerGate.wait", ((old, "x"),)),
    ):
        pass


# Scenes


def test_scenes_are_clean_and_exhausted() -> None:
    assert unclean_scene(CLEAN) is None


def statistics(one: Scene) -> Statistics:
    """A scene in virtual time, where nothing is late."""
    cost = cost_model(CLEAN)
    machine = VirtualMachine(cost, seed=7)
    bench = Workbench(machine, pair_spec(CLEAN), cost, one.sizes, checks=True)
    ended: list[bool] = []

    def program() -> HostProgram:
        yield from one.steps(bench)
        yield from bench.end()
        ended.append(True)

    machine.spawn("prefill", program())
    machine.run()
    assert ended, one.name
    return bench.cache.statistics


def test_scenes_reach_what_they_are_for() -> None:
    seen = {one.name: statistics(one) for one in SCENES}
    assert all(one.backups >= 1 for one in seen.values())
    assert [name for name, one in seen.items() if not one.evicted_device_pages] == ["crowded"]
    assert seen["crowded"].backups_refused == 1
    assert seen["ring"].loads == 4
    assert (seen["merged"].load_backs, seen["merged"].loads) == (2, 1)
    assert seen["host full"].evicted_host_pages == 1
    assert (seen["pinned"].backups_refused, seen["pinned"].loads) == (1, 1)
    assert seen["duplicate"].duplicate_pages == 1
    assert sum(one.dropped_pages for one in seen.values()) == 0


# Verdicts

KILLED = [
    (
        "gate:LayerGate.wait",
        "gate off by one layer",
        "turns",
        r"order 10: .* attention\[layer (\d)\] .*ring\[0\].layer\[\1\]",
    ),
    (
        "gate:LayerRing.finish_event",
        "finish event is the first layer's",
        "alone",
        r"order 6: EARLY_RECORD .*ring\[0\].layer\[0\]",
    ),
    (
        "transfers:issue_load",
        "load does not wait for start",
        "tail",
        r"order 8: .*load \w+\[layer 0\] not after .*forward",
    ),
    ("transfers:issue_load", "layer is recorded before its copies", "turns", r"order 10: EARLY_RECORD"),
    (
        "transfers:issue_backup",
        "start is recorded after the wait",
        "eager",
        r"order 1: UNARMED_WAIT .*backup\[0\].r0.start",
    ),
    ("transfers:issue_backup", "finish is not recorded", "polled", r"order 2: .* backup\[\d\].r0.finish"),
    (
        "backups:BackupQueue.drain",
        "host does not wait for a backup",
        "write back",
        r"order 3: .* backup\[0\].r0.finish",
    ),
    ("loads:LoadQueue.add", "queued load is not locked", "abandoned", r"order 6: .* project\[layer \d\] not after"),
    (
        "controller:HiCache.insert",
        "chunk counts as a use",
        "chunked",
        r"order 16: .*backup \w+\[all layers\] not after .*project",
    ),
]


@pytest.mark.parametrize(("target", "what", "where", "said"), KILLED, ids=[row[1] for row in KILLED])
def test_report_names_what_was_broken(target: str, what: str, where: str, said: str) -> None:
    declared = mutant(target, what)
    one = CodeMutant(what, target, declared.changes, orders=declared.orders[:1])
    verdict = judge(CLEAN, one, (scene(where),))
    assert verdict.fate is Fate.KILLED
    assert verdict.scenes == (where,)
    assert verdict.is_confirmed
    assert any(re.search(said, sentence) for sentence in verdict.named), verdict.named


def test_lost_bookkeeping_is_told_by_its_assertion() -> None:
    verdict = judge(CLEAN, mutant("controller:HiCache.release", "released pages are freed twice"), (scene("tail"),))
    assert (verdict.fate, verdict.scenes) == (Fate.FAILED, ("tail",))
    assert "double free of pages" in verdict.named[0]


def test_what_cannot_matter_is_equivalent_by_exhaustion_and_survives_a_budget_that_ends() -> None:
    unneeded = mutant("gate:LayerRing.claim", "ring slot is used again without waiting")
    verdict = judge(CLEAN, unneeded, (scene("ring"),))
    assert (verdict.fate, verdict.codes) == (Fate.EQUIVALENT, ())
    assert verdict.orders > 10
    always_run = mutant("gate:LayerRing.claim", "ring asks about the slot before")
    assert judge(CLEAN, always_run, (scene("ring"),), budget=10).fate is Fate.SURVIVED


def test_line_that_is_never_reached_is_not_run() -> None:
    idle = CodeMutant("flush forgets nothing", "controller:HiCache.flush", (("self.tree.clear()", "pass"),), reason="?")
    assert judge(CLEAN, idle, (scene("turns"),)).fate is Fate.NOT_RUN


def test_race_of_another_order_is_another_cause() -> None:
    dropped = mutant("gate:LayerGate.wait", "no gate for attention's reads")
    wrong = CodeMutant(dropped.what, dropped.target, dropped.changes, orders=("2",))
    verdict = judge(CLEAN, wrong, (scene("turns"),))
    assert verdict.fate is Fate.OTHER
    assert "in 'turns': LATE_WAIT" in verdict.named[0]


def test_each_mutant_declares_one_outcome_and_each_order_is_broken() -> None:
    assert len(MUTANTS) >= 40
    assert len(BY_NAME) == len(MUTANTS)
    for one in MUTANTS:
        assert sum(map(bool, (one.orders, one.assertion, one.reason))) == 1, one
    assert {name for one in MUTANTS for name in one.orders} == {one.name for one in ORDERS}


def declared_fate(one: CodeMutant) -> Fate:
    return Fate.KILLED if one.orders else Fate.FAILED if one.assertion else Fate.EQUIVALENT


def test_page_lists_every_mutant_with_the_fate_that_it_declares() -> None:
    rows = re.findall(r"^\| (\w[\w ]*) \| (`.*?` .*?) \| ", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert {name: fate for fate, name in rows} == {f"`{one.place}` {one.what}": declared_fate(one) for one in MUTANTS}


@pytest.mark.slow
@pytest.mark.parametrize("one", MUTANTS, ids=lambda one: f"{one.place}: {one.what}")
def test_every_mutant_meets_the_fate_that_it_declares(one: CodeMutant) -> None:
    verdict = judge(CLEAN, one)
    assert verdict.fate is declared_fate(one), verdict
