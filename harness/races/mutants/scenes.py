"""Scenes: small clean programs that need every order which the cache keeps, as few of them at a time as possible.

Owns: the scenes and their program. Does not own: the steps (`workbench`), mutants. Floor 5.
Source: facts/sglang.md section 2. Each scene says what it leans on; each is exhausted before it is used.

Where a host waits for every forward, most orders are kept twice, and a mutant of one is equivalent. So there are scenes
in which the host does not: it leans on the start events alone, as SGLang's overlapping scheduler does.
"""

from __future__ import annotations

from dataclasses import dataclass

from harness.config import Scenario
from harness.races.mutants.workbench import Job, Sizes, Steps, Workbench
from harness.simulation.assembly import cost_model, pair_spec
from kernels.hicache.pieces import HostPiece
from kernels.substrate.contract import HostProgram, Machine

_MISTAKES = (LookupError, TypeError, ValueError, AttributeError)


@dataclass(frozen=True, slots=True)
class Scene:
    """One program. leans_on: the orders that nothing else keeps there, in words."""

    name: str
    leans_on: str
    sizes: Sizes
    steps: Steps


class SceneProgram:
    """A scene on a machine. `checks`: with the cache's invariants looked at after every step."""

    def __init__(self, scenario: Scenario, scene: Scene, *, checks: bool = False) -> None:
        self.name = f"{scenario.name}: {scene.name}"
        self._spec = pair_spec(scenario)
        self._cost = cost_model(scenario)
        self._scene = scene
        self._checks = checks

    def __call__(self, machine: Machine) -> None:
        bench = Workbench(machine, self._spec, self._cost, self._scene.sizes, checks=self._checks)
        machine.spawn("prefill", self._steps(bench))

    def __repr__(self) -> str:
        return f"SceneProgram({self.name})"

    def _steps(self, bench: Workbench) -> HostProgram:
        try:
            yield from self._scene.steps(bench)
            yield from bench.end()
        except _MISTAKES as mistake:
            # Broken code may break in any way; for the explorer that is a failed assertion like another one.
            raise AssertionError(f"{type(mistake).__name__}: {mistake}") from mistake


def _turns(bench: Workbench) -> HostPiece[None]:
    for keys in ((1,), (11, 12), (1, 2)):
        yield from bench.turn(keys)
        yield from bench.drain()


def _polled(bench: Workbench) -> HostPiece[None]:
    for keys in ((1,), (11, 12), (1, 2)):
        yield from bench.turn(keys)
        yield from bench.poll()


def _eager(bench: Workbench) -> HostPiece[None]:
    for keys in ((1,), (11, 12), (1, 2)):
        yield from bench.turn(keys, waits=False)


def _tail(bench: Workbench) -> HostPiece[None]:
    yield from bench.turn((1,), waits=False)
    yield from bench.drain()
    # A page that is never inserted is free as soon as its request is released, and is handed out first.
    yield from bench.push_out(2)
    job = yield from bench.admit((21,))
    yield from bench.reserve(job, 1)
    bench.no_load()
    yield from bench.forward(job)
    bench.release(job)
    yield from bench.turn((1, 2), waits=False)


def _duplicate(bench: Workbench) -> HostPiece[None]:
    yield from bench.turn((1,), waits=False)
    yield from bench.drain()
    yield from bench.push_out(3)
    jobs: list[Job] = []
    for _ in range(2):
        job = yield from bench.admit((31,))
        yield from bench.reserve(job, 1)
        bench.no_load()
        yield from bench.forward(job)
        jobs.append(job)
    for job in jobs:
        bench.insert(job)
        bench.release(job)
    yield from bench.turn((1, 2), waits=False)


def _chunked(bench: Workbench) -> HostPiece[None]:
    job = yield from bench.admit((1, 2, 3))
    for count in (1, 2):
        yield from bench.reserve(job, count)
        bench.no_load()
        yield from bench.forward(job)
        if count == 1:
            bench.insert(job, is_chunk=True)
    yield from bench.wait()
    bench.insert(job)
    bench.release(job)
    yield from bench.drain()
    # First the end of the prefix only, then what is left of it.
    yield from bench.push_out(2)
    yield from bench.push_out(4)
    yield from bench.turn((1, 2, 3, 4))


def _ring(bench: Workbench) -> HostPiece[None]:
    prefixes = (1, 2, 3, 4)
    for key in prefixes:
        yield from bench.turn((key,))
    yield from bench.drain()
    yield from bench.push_out(8)
    jobs: list[Job] = []
    for key in prefixes:
        job = yield from bench.admit((key, 10 + key))
        yield from bench.reserve(job, 1)
        yield from bench.load()
        yield from bench.forward(job)
        jobs.append(job)
    yield from bench.wait()
    for job in jobs:
        bench.insert(job)
        bench.release(job)


def _merged(bench: Workbench) -> HostPiece[None]:
    for key in (1, 2):
        yield from bench.turn((key,))
    yield from bench.drain()
    yield from bench.push_out(4)
    jobs: list[Job] = []
    for keys in ((1, 3), (2, 4)):
        job = yield from bench.admit(keys)
        yield from bench.reserve(job, 1)
        jobs.append(job)
    yield from bench.load()
    yield from bench.forward(*jobs)
    yield from bench.wait()
    for job in jobs:
        bench.insert(job)
        bench.release(job)


def _given_up(bench: Workbench, device_pages: int) -> HostPiece[None]:
    """A prefix on the host, one more on the device, and a request for the first that has gone again."""
    yield from bench.turn((1,))
    yield from bench.drain()
    yield from bench.push_out(device_pages)
    yield from bench.turn((5,))
    yield from bench.drain()
    bench.release((yield from bench.admit((1,))))
    # The loaded prefix is now the one that was used least recently.
    bench.cache.match((5,))


def _abandoned(bench: Workbench) -> HostPiece[None]:
    yield from _given_up(bench, 4)
    yield from bench.turn((21, 22, 23))


def _alone(bench: Workbench) -> HostPiece[None]:
    yield from _given_up(bench, 4)
    yield from bench.load()
    yield from bench.poll()
    yield from bench.turn((21, 22, 23))


def _host_full(bench: Workbench) -> HostPiece[None]:
    yield from bench.turn((1,))
    yield from bench.drain()
    yield from bench.push_out(3)
    bench.release((yield from bench.admit((1,))))
    yield from bench.load()
    yield from bench.poll()
    job = yield from bench.admit((21, 22))
    # One page more than the keys say: the tail, which is not cached.
    yield from bench.reserve(job, 3)
    bench.no_load()
    yield from bench.forward(job)
    yield from bench.wait()
    job.computed = 2
    bench.insert(job)
    bench.release(job)


def _pinned(bench: Workbench) -> HostPiece[None]:
    yield from bench.turn((1,))
    yield from bench.drain()
    yield from bench.push_out(4)
    back = bench.open((1, 2))
    yield from bench.turn((21, 22))
    yield from bench.drain()
    yield from bench.load_back(back)
    yield from bench.reserve(back, 1)
    yield from bench.load()
    yield from bench.forward(back)
    yield from bench.wait()
    bench.insert(back)
    bench.release(back)


def _crowded(bench: Workbench) -> HostPiece[None]:
    for key in (1, 2, 3):
        yield from bench.turn((key,))
        yield from bench.drain()


def _split(bench: Workbench) -> HostPiece[None]:
    yield from bench.turn((1, 2))
    # A node is cut in two while its backup locks it, and another one while a request pins it.
    yield from bench.turn((1, 3))
    yield from bench.drain()
    holder = yield from bench.admit((1,))
    yield from bench.expect_no_room(holder, 4)
    bench.release(holder)
    yield from bench.push_out(4)
    yield from bench.turn((5, 6))
    yield from bench.drain()
    yield from bench.push_out(4)
    back = bench.open((5, 6))
    other = yield from bench.admit((5,))
    yield from bench.load_back(back)
    yield from bench.load()
    yield from bench.forward(back, other)
    yield from bench.wait()
    for job in (back, other):
        bench.insert(job)
        bench.release(job)


SCENES: tuple[Scene, ...] = (
    Scene("turns", "gates; the host waits for every forward and backup", Sizes(2, 6, 0), _turns),
    Scene("polled", "backup locks, polled; the host waits for every forward", Sizes(2, 6), _polled),
    Scene("eager", "start events and backup locks; the host waits for no forward", Sizes(2, 6), _eager),
    Scene("tail", "the load's start event: a page is free while a forward writes it", Sizes(2, 6, 1), _tail),
    Scene("duplicate", "the load's start event: a page computed twice is freed", Sizes(3, 6, 1), _duplicate),
    Scene("chunked", "that a chunk is not backed up", Sizes(4, 8, has_own_schedule=True), _chunked),
    Scene("ring", "the ring: four loads, three sets", Sizes(8, 8, 1), _ring),
    Scene("merged", "two requests' loads merged into one producer", Sizes(4, 4), _merged),
    Scene("abandoned", "the load's lock while it is queued", Sizes(4, 6), _abandoned),
    Scene("alone", "the load's lock while it runs: no forward waits for it", Sizes(4, 6), _alone),
    Scene("host full", "host slots of a running load, with a full host tier", Sizes(3, 2), _host_full),
    Scene("crowded", "host pages of resident nodes, with a full host tier", Sizes(4, 2), _crowded),
    Scene("pinned", "the pin of a request that has not loaded yet", Sizes(4, 2), _pinned),
    Scene("split", "counts of a node that is cut in two", Sizes(4, 6), _split),
    Scene("write back", "the host's wait for backups before it frees", Sizes(2, 4, policy="write_back"), _turns),
)
