"""Laws over stored traces, marks that are none, failures put in, and the shadow map against plain counting.

Owns: `laws/history.py`, `laws/marks.py`, `laws/injection.py`. Floor: tests. Source: ours.
"""

from __future__ import annotations

import io
import json

import numpy as np
import pytest

from kernels.hicache.variant import Variant
from kernels.races.detector.race import Problem
from kernels.races.laws.book import breaches
from kernels.races.laws.history import history_of, stored_history
from kernels.races.laws.injection import arrived, failing
from kernels.races.laws.marks import Marker, NotAMark
from kernels.races.scheduler.execution import Execution
from kernels.races.scheduler.plan import Plan
from kernels.races.search.explore import explore
from kernels.races.search.replay import settled
from kernels.races.strategies.random_walk import RandomWalk
from kernels.substrate.contract import HostProgram, Machine, Park, Sleep
from scenarios.zoo.parts import Pool, copy, kernel, replies
from scenarios.zoo.registry import specimens
from scenarios.zoo.specimen import DEFECT, Specimen
from tests.races.hicache_program import incident
from tests.zoo.lawful import Program, broken, laws_of, through_a_file, trace_of

LAWLESS = [specimen for specimen in specimens() if specimen.expected.laws]


@pytest.mark.parametrize("columns", [False, True], ids=["lines", "columns"])
@pytest.mark.parametrize("specimen", LAWLESS, ids=lambda specimen: specimen.name)
def test_a_file_tells_what_memory_tells(specimen: Specimen, columns: bool) -> None:
    trace = trace_of(specimen.program(DEFECT))
    assert breaches(through_a_file(trace, columns=columns)) == breaches(history_of(trace))


@pytest.mark.parametrize(
    ("label", "why"),
    [
        ("mark nonsense {}", "unknown kind 'nonsense', known: together"),
        ("mark claim", "its facts are no JSON"),
        ("mark free {}", "'free' needs owner, buffer, layers, pages"),
        ("mark free []", "its facts are no JSON object"),
        ('mark acts {"owner": 7}', "'acts' needs owner, or has another type there"),
        ('mark free {"owner": "A", "buffer": "b", "layers": [0], "pages": [-1]}', "'free' needs pages"),
        ('mark put {"key": "k", "facts": {}, "buffer": "b"}', "'put' needs layers, pages"),
        ('mark placed {"buffer": "b", "address": 0}', "there is no buffer 'b'"),
        ('mark together {"buffers": ["a", "b"]}', "there is no buffer 'a'"),
    ],
)
def test_a_label_that_only_begins_like_a_mark_is_refused(label: str, why: str) -> None:
    def program(machine: Machine) -> None:
        machine.stream("s", device=0).launch(label, duration_ns=1, point="mark")

    with pytest.raises(NotAMark, match="operation 1 is no mark") as refused:
        broken(program)
    assert why in str(refused.value)
    assert refused.value.exit_code == 4


def _row(op: int, kind: str, label: str, *accesses: tuple[str, str, int]) -> dict[str, object]:
    listed = [
        {"mode": mode, "buffer": buffer, "layers": [0], "pages": [[0, pages]]} for mode, buffer, pages in accesses
    ]
    return {"row": kind, "op": op, "stream": "s", "thread": "t", "label": label, "issue": op, "accesses": listed}


@pytest.mark.parametrize(
    ("copied", "says"),
    [
        ([("read", "b", 1), ("write", "a", 1)], "companions"),
        ([("write", "a", 1)], ""),
        ([("read", "b", 3), ("write", "a", 1)], ""),
        ([("read", "a", 1), ("read", "b", 1), ("write", "a", 1)], ""),
        ([("read", "z", 1), ("write", "a", 1)], "touches z: undeclared access"),
    ],
)
def test_a_copy_from_elsewhere_may_be_none(copied: list[tuple[str, str, int]], says: str) -> None:
    """What is no copy from one range to another of its size tells nothing of where its bytes come from."""
    buffers = [
        {"row": "buffer", "name": name, "space": name, "layers": 1, "pages": 8, "page_bytes": 64} for name in "ab"
    ]
    together, rows = 'mark together {"buffers": ["a", "b"]}', 'mark rows {"buffer": "a", "parts": ["k"]}'
    lines: list[dict[str, object]] = [{"row": "header", "format": "kvrace-trace/1"}, *buffers]
    lines += [_row(1, "kernel", together), _row(2, "kernel", rows), _row(3, "copy", "c", *copied)]
    lines += [_row(4, "kernel", "use", ("read", "b", 1))]
    lines.append({"row": "end", "rows": len(lines)})
    history = stored_history(io.BytesIO(b"".join(json.dumps(line).encode() + b"\n" for line in lines)))
    if isinstance(history, Problem):
        assert says in history.reason
    else:
        assert " ".join(breach.law for breach in breaches(history)) == says


@pytest.mark.parametrize("gate", [True, False])
def test_the_real_cache_moves_all_companions(gate: bool) -> None:
    """The incident is a missing order, and no page is left behind: that law has nothing to say of it."""

    def program(machine: Machine) -> None:
        incident(Variant(gate_index_k=gate))(machine)
        pools = {buffer.name: buffer for buffer in machine.buffers}  # type: ignore[attr-defined]
        mark = Marker(machine)
        for tier in ("device", "host"):
            mark.together(*(pools[f"prefill.r0.{tier}.{kind}"] for kind in ("c4", "index_k", "c128")))

    trace = trace_of(program)
    assert any(step.operation.kind == "copy" and "index_k" in step.label for step in history_of(trace).steps)
    assert breaches(history_of(trace)) == []


def test_the_real_cache_without_its_index_copies_is_told() -> None:
    def program(machine: Machine) -> None:
        incident(Variant())(machine)
        pools = {buffer.name: buffer for buffer in machine.machine.buffers}  # type: ignore[attr-defined]
        Marker(machine).together(*(pools[f"prefill.r0.device.{kind}"] for kind in ("c4", "index_k")))

    lost = "index_k[layer 1]"
    found = broken(failing(program, lost))
    assert found
    assert all(breach.law == "companions" and "prefill.r0.device.index_k" in breach.what for breach in found)


def loading(asks: bool) -> Program:
    def program(machine: Machine) -> None:
        disk, device = Pool(machine, "disk", 2), Pool(machine, "device", 2)
        stream, mark = machine.stream("s", device=0), Marker(machine)
        kernel(stream, "stored", writes=[(disk.at(0, 1), 1)])
        for page in (0, 1):
            copy(stream, disk.at(page), device.at(page), f"read[{page}]")
            if not asks or arrived(machine, f"read[{page}]"):
                mark.loaded(f"read[{page}]")
                kernel(stream, "use", reads=[device.at(page)], body=replies(1))

    return program


@pytest.mark.parametrize("page", [0, 1])
def test_a_failure_that_is_put_in_must_be_asked_for(page: int) -> None:
    label = f"read[{page}]"
    assert laws_of(failing(loading(asks=False), label)) == ["failures"]
    assert laws_of(failing(loading(asks=True), label)) == []
    assert laws_of(loading(asks=False)) == []
    careless = explore(failing(loading(asks=False), label), budget=5, mend_schedules=0)
    assert careless.saw_stale_bytes
    explore(failing(loading(asks=True), label), budget=5, mend_schedules=0).assert_clean()


def test_shadow_map_counts_as_a_plain_table_does() -> None:
    """Claims and releases at random, against a dictionary from page to its owners."""
    seed = 7
    rng = np.random.default_rng(seed)
    names, steps = ("A", "B", "C"), []
    held: dict[int, list[str]] = {}
    faults = 0
    for _ in range(200):
        owner, page = names[rng.integers(3)], int(rng.integers(4))
        owners = held.setdefault(page, [])
        if rng.random() < 0.5:
            faults += bool(owners)
            owners.append(owner)
            steps.append(("claim", owner, page))
        else:
            faults += owner not in owners
            if owner in owners:
                owners.remove(owner)
            steps.append(("free", owner, page))

    def program(machine: Machine) -> None:
        pool, mark = Pool(machine, "pool", 4), Marker(machine)
        for what, owner, page in steps:
            getattr(mark, what)(owner, pool.at(page))

    assert laws_of(program).count("owners") == faults > 20, f"seed {seed}"


def test_a_kernels_check_may_fail_while_another_thread_is_ready() -> None:
    """The check ends all host threads; none of them may be asked to go on."""

    def program(machine: Machine) -> None:
        pool, stream = Pool(machine, "pool"), machine.stream("s", device=0)

        def main() -> HostProgram:
            kernel(stream, "use", reads=[pool.at(0)], body=replies(1))
            other.wake()
            yield Park()

        def second() -> HostProgram:
            yield Park()
            yield Sleep(1)

        machine.spawn("main", main())
        other = machine.spawn("second", second())

    plan = settled(Plan(program))
    errors = {Execution(plan).run(RandomWalk(seed)).error for seed in range(20)}
    assert {error.partition(":")[0] for error in errors} == {"ordered, yet stale"}
