"""Random requests on a random machine: with every gate in place, every read holds its own key's content.

Streams advance in random order between any two steps; requests overlap, fork, come in chunks, share loads, and are
sometimes released after their load was queued. After every step all invariants are checked, and every page that any
layer of any pool read must hold a version that was written for exactly that prefix. The last test asserts that the
workload reaches every path of the cache, so that silence means something.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass, replace
from random import Random

import pytest

from kernels.hicache.geometry import WINDOW_POOLS, Geometry, preset
from kernels.hicache.invariants import check
from kernels.hicache.lease import Lease
from kernels.hicache.spec import HiCacheSpec
from kernels.hicache.variant import Variant
from tests.hicache.fake_machine import FakeEvent
from tests.hicache.scene import CORRECT, Scene

STEPS = 500
DSA = replace(preset("dsa"), layer_kinds=("dsa",) * 3)
TINY = preset("tiny")


@dataclass
class Running:
    """A request whose forward, of its first `count` keys, is in flight."""

    lease: Lease
    keys: tuple[int, ...]
    count: int
    done: list[FakeEvent]


class Workload:
    """Sessions whose histories grow, and now and then fork from another one's."""

    def __init__(self, spec: HiCacheSpec, geometry: Geometry, *, seed: int, variant: Variant = CORRECT) -> None:
        self.rng = Random(seed)
        self.scene = Scene(spec, geometry=geometry, rank_count=self.rng.choice([1, 2]), seed=seed)
        self.variant = variant
        self.running: list[Running] = []
        self.histories: list[tuple[int, ...]] = [(session + 1,) for session in range(8)]
        self.next_key = 100
        self.checked = 0

    def run(self, steps: int) -> None:
        actions = [self.begin, self.retry, self.finish, self.advance, self.poll] * 3 + [self.fork]
        for _ in range(steps):
            self.rng.choice(actions)()
            check(self.scene.cache)
            self.check_reads()
        while self.running:
            self.finish()
        self.scene.settle()

    def begin(self) -> None:
        """A turn: a session's history grows by a few pages, and is read as far as it was there."""
        session = self.rng.randrange(len(self.histories))
        history = self.histories[session]
        history += tuple(range(self.next_key, self.next_key + self.rng.randint(1, 3)))
        self.next_key += 3
        self.histories[session] = history if len(history) < 9 else history[:1]
        self._admit(history)

    def fork(self) -> None:
        source = self.rng.choice(self.histories)
        target = self.rng.randrange(len(self.histories))
        self.histories[target] = source[: self.rng.randint(1, len(source))]

    def retry(self) -> None:
        """An old prompt once more, cut short: nothing may be new in it."""
        history = self.rng.choice(self.histories)
        self._admit(history[: self.rng.randint(1, len(history))])

    def _admit(self, keys: tuple[int, ...]) -> None:
        scene = self.scene
        if len(self.running) == 2:
            self.finish()
        lease = scene.cache.open(keys)
        check(scene.cache)
        scene.machine.run(scene.cache.load_back(lease))
        check(scene.cache)
        count = min(len(keys), len(lease.prefix_pages) + self.rng.randint(1, 6))
        pages = scene.machine.run(scene.cache.reserve(lease, count - len(lease.prefix_pages)))
        if pages is None or self.rng.random() < 0.1:
            scene.cache.release(lease)
        else:
            self._launch(lease, keys, count, computed=len(lease.prefix_pages))

    def _launch(self, lease: Lease, keys: tuple[int, ...], count: int, *, computed: int) -> None:
        done = self.scene.start(lease, keys[:count], self.variant, computed=computed)
        self.running.append(Running(lease, keys, count, done))

    def finish(self) -> None:
        """The oldest forward ends; its request goes on with its next chunk, or is released."""
        if not self.running:
            return
        scene, request = self.scene, self.running.pop(0)
        while any(event.completed < event.issued for event in request.done):
            assert scene.machine.step()
        is_chunk = request.count < len(request.keys)
        scene.cache.insert(request.lease, request.keys[: request.count], is_chunk=is_chunk)
        check(scene.cache)
        if is_chunk and scene.machine.run(scene.cache.reserve(request.lease, 1)) is not None:
            self._launch(request.lease, request.keys, request.count + 1, computed=request.count)
        else:
            scene.cache.release(request.lease)

    def advance(self) -> None:
        for _ in range(self.rng.randint(1, 200)):
            self.scene.machine.step()

    def poll(self) -> None:
        self.scene.machine.run(self.scene.cache.poll())

    def check_reads(self) -> None:
        for seen in self.scene.seen[self.checked :]:
            assert seen.stale_pages == seen.torn_pages == 0, seen
            expected = seen.prefix[-1:] if seen.kind in WINDOW_POOLS else seen.prefix
            assert tuple(self.scene.key_of[int(version)] for version in seen.versions) == expected, seen
        self.checked = len(self.scene.seen)


def spec_for(geometry: Geometry, host_pages: int = 60) -> HiCacheSpec:
    return HiCacheSpec(14 * geometry.page_tokens, host_pages * geometry.page_tokens)


TINY_SPEC = spec_for(TINY)
CASES = {
    "write_through": (TINY, TINY_SPEC),
    "selective": (TINY, replace(TINY_SPEC, policy="write_through_selective")),
    "write_back": (TINY, replace(TINY_SPEC, policy="write_back")),
    "sorted": (TINY, replace(TINY_SPEC, reuse="sorted")),
    "small_host": (TINY, spec_for(TINY, host_pages=10)),
    "off": (TINY, spec_for(TINY, host_pages=0)),
    "dsa": (DSA, spec_for(DSA)),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("seed", range(2))
def test_every_read_holds_its_own_keys_content(case: str, seed: int) -> None:
    geometry, spec = CASES[case]
    workload = Workload(spec, geometry, seed=seed)
    workload.run(STEPS)
    statistics = workload.scene.cache.statistics
    assert statistics.at_rest_mismatches == 0
    assert workload.checked > 0
    assert (statistics.load_backs > 0) == (spec.host_tokens > 0)


def test_without_the_gate_the_same_workload_reads_stale_keys() -> None:
    workload = Workload(TINY_SPEC, TINY, seed=0, variant=Variant(gate_index_k=False))
    with pytest.raises(AssertionError, match="index_k"):
        workload.run(STEPS)


def test_the_workload_reaches_every_path() -> None:
    reached: Counter[str] = Counter()
    for case, seed in (("write_through", 0), ("write_through", 1), ("write_back", 0), ("small_host", 0)):
        geometry, spec = CASES[case]
        workload = Workload(spec, geometry, seed=seed)
        workload.run(STEPS)
        reached.update(asdict(workload.scene.cache.statistics))
    never = {path for path, times in reached.items() if times == 0}
    assert never <= {"at_rest_mismatches", "ring_waits"}


def test_a_workload_is_repeated_exactly_by_its_seed() -> None:
    first, second = (Workload(TINY_SPEC, TINY, seed=3) for _ in range(2))
    for workload in (first, second):
        workload.run(STEPS)
    assert first.scene.cache.statistics == second.scene.cache.statistics
    reads = [[seen.versions.tolist() for seen in workload.scene.seen] for workload in (first, second)]
    assert reads[0] == reads[1]
