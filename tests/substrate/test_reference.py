"""Property test: the virtual machine against the slow reference, on random programs without contention."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from kernels.substrate.contract import PageView, Region, Write
from kernels.substrate.trace import MemoryTrace
from kernels.substrate.virtual.invariants import check_invariants
from kernels.substrate.virtual.machine import VirtualMachine
from kernels.substrate.virtual.memory import VirtualBuffer
from tests.substrate.plain import fill_host, plain_machine
from tests.substrate.reference import Page, Reference, Step

LAYERS, PAGES, PAGE_BYTES = 2, 3, 10
INITIAL = {"device": 0, "host": 1}

# The phase that explains a failure traces every line, and a shrunk program explains itself.
RANDOM_PROGRAMS = settings(
    max_examples=120,
    deadline=None,
    derandomize=True,
    phases=[Phase.explicit, Phase.reuse, Phase.generate, Phase.shrink],
)

walks = st.tuples(
    st.permutations(range(LAYERS)), st.permutations(range(PAGES)), st.integers(1, LAYERS), st.integers(1, PAGES)
)


def walk(pool: str, drawn: tuple[list[int], list[int], int, int]) -> tuple[Page, ...]:
    layers, pages, layer_count, page_count = drawn
    return tuple((pool, layer, page) for layer in layers[:layer_count] for page in pages[:page_count])


@st.composite
def programs(draw: st.DrawFn) -> list[Step]:
    steps: list[Step] = []
    for version in range(2, 2 + draw(st.integers(1, 18))):
        stream = draw(st.sampled_from("ABC"))
        kind = draw(st.sampled_from(["load", "save", "write", "read", "read", "busy", "record", "wait"]))
        duration_ns = draw(st.integers(0, 40))
        if kind in ("load", "save"):
            from_pool, to_pool = ("host", "device") if kind == "load" else ("device", "host")
            source = draw(walks)
            # The same number of layers and pages on the other side, walked in an order of its own.
            target = (*draw(walks)[:2], *source[2:])
            steps.append(Step(stream, "copy", source=walk(from_pool, source), target=walk(to_pool, target)))
        elif kind in ("write", "read"):
            pages = walk("device", draw(walks))
            steps.append(Step(stream, kind, duration_ns=duration_ns, target=pages, version=version))
        elif kind == "busy":
            steps.append(Step(stream, kind, duration_ns=duration_ns))
        else:
            steps.append(Step(stream, kind, event=draw(st.sampled_from("ab"))))
    return steps


class Played:
    """A program on the virtual machine: times by step, and the view of every read."""

    def __init__(self, steps: list[Step]) -> None:
        self.views: dict[int, PageView] = {}
        trace = MemoryTrace()
        machine = plain_machine(trace=trace)
        host = machine.buffer("host", space="host", layer_count=LAYERS, page_count=PAGES, page_bytes=PAGE_BYTES)
        fill_host(machine, host, INITIAL["host"], machine.run)
        device = machine.buffer("device", space="device:0", layer_count=LAYERS, page_count=PAGES, page_bytes=PAGE_BYTES)
        self.pools = {"device": device, "host": host}
        self.begin_ns = machine.now_ns
        first = len(trace.operations)
        self._issue(machine, steps)
        while (next_ns := machine.next_time_ns()) is not None:
            machine.advance_to(next_ns)
            check_invariants(machine)
        self.machine = machine
        rows = sorted(trace.operations[first:], key=lambda row: row.ordinal)
        self.times = [(row.start_ns - self.begin_ns, row.end_ns - self.begin_ns) for row in rows]

    def _region(self, pages: tuple[Page, ...]) -> Region:
        buffer: VirtualBuffer = self.pools[pages[0][0]]
        layers = tuple(dict.fromkeys(layer for _, layer, _ in pages))
        ids = list(dict.fromkeys(page for _, _, page in pages))
        return Region(buffer, layers, np.asarray(ids, dtype=np.int64))

    def _issue(self, machine: VirtualMachine, steps: list[Step]) -> None:
        streams = {name: machine.stream(name, device=0) for name in "ABC"}
        events = {name: machine.event(name) for name in "ab"}
        for index, step in enumerate(steps):
            stream, duration_ns = streams[step.stream], step.duration_ns
            if step.kind == "copy":
                stream.copy(self._region(step.source), self._region(step.target), point="h2d.c4", label="copy")
            elif step.kind == "write":
                region = self._region(step.target)
                versions = np.full(len(region.pages), step.version, dtype=np.int64)
                writes = [Write(region, versions)]
                stream.launch("write", duration_ns=duration_ns, point="compute.layer", writes=writes)
            elif step.kind == "read":

                def body(views: Sequence[PageView], index: int = index) -> None:
                    self.views[index] = views[0]

                stream.launch(
                    "read",
                    duration_ns=duration_ns,
                    read_ns=duration_ns,
                    point="compute.indexer",
                    reads=[self._region(step.target)],
                    body=body,
                )
            elif step.kind == "busy":
                stream.launch("busy", duration_ns=duration_ns, point="compute.layer")
            elif step.kind == "record":
                stream.record(events[step.event])
            else:
                stream.wait(events[step.event])


@RANDOM_PROGRAMS
@given(programs())
def test_times_are_those_of_the_reference(steps: list[Step]) -> None:
    assert Played(steps).times == Reference(steps, PAGE_BYTES, INITIAL).times


@RANDOM_PROGRAMS
@given(programs())
def test_every_page_read_is_one_that_the_reference_allows(steps: list[Step]) -> None:
    played, reference = Played(steps), Reference(steps, PAGE_BYTES, INITIAL)
    for index, view in played.views.items():
        step = steps[index]
        start_ns, end_ns = reference.times[index]
        count = len(step.target)
        for place, page in enumerate(step.target):
            read_ns = start_ns + (2 * place + 1) * (end_ns - start_ns) // (2 * count)
            head, tail = int(view.head.flat[place]), int(view.tail.flat[place])
            assert int(view.wanted.flat[place]) == reference.wanted(page, index)
            assert tail in reference.content(page, read_ns)
            inside = reference.in_flight(page, read_ns)
            if not inside:
                assert head == tail
                continue
            assert head in {version for write in inside for version in reference.versions(write, page)}
            if head == tail:
                assert view.tear.flat[place] == 1.0
                continue
            fractions = [(read_ns - write.begin_ns) / (write.end_ns - write.begin_ns) for write in inside]
            assert any(abs(float(view.tear.flat[place]) - fraction) < 1e-6 for fraction in fractions)


@RANDOM_PROGRAMS
@given(programs())
def test_what_order_promises_is_what_is_read(steps: list[Step]) -> None:
    played, reference = Played(steps), Reference(steps, PAGE_BYTES, INITIAL)
    for index, view in played.views.items():
        for place, page in enumerate(steps[index].target):
            if reference.is_promised(page, index):
                wanted = int(view.wanted.flat[place])
                assert (int(view.head.flat[place]), int(view.tail.flat[place])) == (wanted, wanted)
                assert int(view.late_ns.flat[place]) == 0


@RANDOM_PROGRAMS
@given(programs())
def test_memory_ends_as_the_reference_says(steps: list[Step]) -> None:
    played, reference = Played(steps), Reference(steps, PAGE_BYTES, INITIAL)
    end_ns = max((end for _, end in reference.times), default=0) + 1
    for name, buffer in played.pools.items():
        everything = Region(buffer, tuple(range(LAYERS)), np.arange(PAGES, dtype=np.int64))
        found = played.machine.landed(everything)
        for layer in range(LAYERS):
            for page in range(PAGES):
                assert int(found[layer, page]) in reference.content((name, layer, page), end_ns)
