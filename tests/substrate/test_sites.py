"""Call sites: the accessor that was asked, not the launch; who only hands on does not count; no folder's own name.

Owns: `kernels.substrate.sites`, and that both machines that look use it alike. Floor: tests.
Source: DESIGN.md section 2 (every operation declares its call site), facts/concurrency.md section 6.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from kernels.races.scheduler.plan import Plan
from kernels.races.search.replay import run_token
from kernels.races.search.tokens import Token
from kernels.substrate.contract import Buffer, Machine, Region, Stream
from kernels.substrate.cost_file import load_cost_model
from kernels.substrate.sites import frames_of
from kernels.substrate.trace import MemoryTrace, Operation
from kernels.substrate.virtual.machine import VirtualMachine

HERE = "tests/substrate/test_sites.py"
PAGE = np.array([0], dtype=np.int64)


class Pool:
    """Stands between an accessor and a region, as pools do."""

    def __init__(self, machine: Machine) -> None:
        self.buffer: Buffer = machine.buffer("pool", space="device:0", layer_count=1, page_count=1, page_bytes=64)

    def pages(self) -> Region:
        __tracebackhide__ = True
        return Region(self.buffer, (0,), PAGE)


def accessor(pool: Pool) -> Region:
    return pool.pages()


def launch(stream: Stream, label: str, region: Region) -> None:
    stream.launch(label, duration_ns=10, point="compute.layer", reads=[region])


def program(machine: Machine) -> None:
    pool, stream = Pool(machine), machine.stream("compute", device=0)
    stream.launch("accessed", duration_ns=10, point="compute.layer", reads=[accessor(pool)])
    kept = accessor(pool)
    stream.launch("first use", duration_ns=10, point="compute.layer", reads=[kept])
    stream.launch("second use", duration_ns=10, point="compute.layer", reads=[kept])
    stream.launch("on the spot", duration_ns=10, point="compute.layer", reads=[pool.pages()])
    launch(stream, "handed on", accessor(pool))
    stream.record(machine.event("over"))


def on_virtual(has_call_sites: bool) -> list[Operation]:
    trace = MemoryTrace()
    machine = VirtualMachine(load_cost_model(), trace=trace, has_call_sites=has_call_sites)
    program(machine)
    machine.run()
    return trace.operations


def in_search(has_call_sites: bool) -> list[Operation]:
    plan = Plan(program, has_call_sites=has_call_sites)
    return run_token(plan, Token(plan.hash)).trace.operations


MACHINES = pytest.mark.parametrize("operations", [on_virtual, in_search])


def functions(site: str) -> list[str]:
    return [frame.partition(" in ")[2] for frame in frames_of(site)]


@MACHINES
def test_access_is_where_the_accessor_was_asked_and_the_chain_says_by_whom(
    operations: Callable[[bool], list[Operation]],
) -> None:
    rows = {row.label: row for row in operations(True)}
    (site,) = rows["accessed"].access_sites
    assert functions(site)[:2] == ["accessor", "program"]
    line = inspect.getsourcelines(accessor)[1] + 1
    assert frames_of(site)[0] == f"{HERE}:{line} in accessor"
    assert functions(rows["accessed"].site)[0] == "program"


@MACHINES
def test_region_that_was_kept_or_made_on_the_spot_stands_where_it_is_used(
    operations: Callable[[bool], list[Operation]],
) -> None:
    rows = {row.label: row for row in operations(True)}
    assert functions(rows["first use"].access_sites[0])[0] == "accessor"
    for label in ("second use", "on the spot"):
        assert rows[label].access_sites == (rows[label].site,), label
    assert functions(rows["handed on"].site)[:2] == ["launch", "program"]
    assert functions(rows["handed on"].access_sites[0])[:2] == ["accessor", "program"]


@MACHINES
def test_orders_have_a_site_too_and_no_site_names_a_folder_of_this_computer(
    operations: Callable[[bool], list[Operation]],
) -> None:
    rows = operations(True)
    assert functions(next(row for row in rows if row.kind == "record").site)[0] == "program"
    sites = [site for row in rows for site in (row.site, *row.access_sites)]
    assert all(site.startswith(f"{HERE}:") for site in sites)
    assert not any(str(Path.cwd()) in site for site in sites)


@MACHINES
def test_machine_that_was_not_told_to_look_notes_nothing(operations: Callable[[bool], list[Operation]]) -> None:
    assert {row.site for row in operations(False)} == {""}
    assert {row.access_sites for row in operations(False)} == {()}
    assert all(region.origin is None for row in operations(False) for _, region in row.accesses)
