"""Each law of `invariants` is broken once, and must say so; an untouched cache breaks none."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from kernels.hicache.invariants import check
from kernels.hicache.node import PageRun
from tests.hicache.scene import Scene, keys_of, with_load_queued


def busy_scene() -> Scene:
    """A lease, a load in flight, an evicted node and a resident one."""
    scene = Scene(device_pages=10)
    scene.request(keys_of(2, 2))
    scene.settle()
    with_load_queued(scene)
    scene.machine.run(scene.cache.start_loading())
    return scene


def page_is_lost(scene: Scene) -> None:
    scene.cache.device.alloc(1)


def page_is_owned_twice(scene: Scene) -> None:
    lease = next(iter(scene.cache.leases.values()))
    lease.own_pages = np.concatenate((lease.own_pages, lease.own_pages))


def page_is_cached_twice(scene: Scene) -> None:
    run = next(node.host for node in scene.cache.tree.nodes() if node.host is not None)
    run.pages[0] = run.pages[-1]


def lock_leaks(scene: Scene) -> None:
    scene.cache.tree.lock(next(node for node in scene.cache.tree.nodes() if node.device is not None))


def lock_is_lost(scene: Scene) -> None:
    scene.cache.tree.unlock(next(iter(scene.cache.leases.values())).node)


def pin_leaks(scene: Scene) -> None:
    scene.cache.tree.pin(next(node for node in scene.cache.tree.nodes() if node.host is not None))


def resident_below_evicted(scene: Scene) -> None:
    lease = next(iter(scene.cache.leases.values()))
    lease.node.device = None


def node_in_no_tier(scene: Scene) -> None:
    next(node for node in scene.cache.tree.nodes() if node.is_evicted).host = None


def wrong_child_key(scene: Scene) -> None:
    children = scene.cache.tree.root.children
    children[12345] = children.pop(next(iter(children)))


def run_too_short(scene: Scene) -> None:
    node = next(node for node in scene.cache.tree.nodes() if node.host is not None and len(node.key) > 1)
    assert node.host is not None
    node.host = PageRun(node.host.pages[:-1], node.host.window[:-1])


def leaf_set_is_out_of_date(scene: Scene) -> None:
    scene.cache.tree.device_leaves.clear()


def host_leaf_set_is_out_of_date(scene: Scene) -> None:
    scene.cache.tree.host_leaves.clear()


def lease_uses_foreign_pages(scene: Scene) -> None:
    lease = next(iter(scene.cache.leases.values()))
    lease.prefix_pages = lease.prefix_pages[::-1]


@pytest.mark.parametrize(
    ("breaks", "complaint"),
    [
        (page_is_lost, r"device: \d+ free \+ \d+ cached \+ \d+ owned != 10 pages"),
        (page_is_owned_twice, r"device: .* are in two places"),
        (page_is_cached_twice, r"host: .* are in two places"),
        (lock_leaks, r"lock_ref of Node\(.*\) is \d, but it has \d holders"),
        (lock_is_lost, r"lock_ref of Node\(.*\) is \d, but it has \d holders"),
        (pin_leaks, r"host_ref of Node\(.*\) is \d, but it has \d holders"),
        (resident_below_evicted, "locked, but not on the device"),
        (node_in_no_tier, "is in no tier"),
        (wrong_child_key, "is not the child that its parent knows"),
        (run_too_short, "run of wrong length"),
        (leaf_set_is_out_of_date, "set"),
        (host_leaf_set_is_out_of_date, "set"),
        (lease_uses_foreign_pages, "a lease ends at"),
    ],
)
def test_a_broken_law_is_named(breaks: Callable[[Scene], None], complaint: str) -> None:
    scene = busy_scene()
    check(scene.cache)
    breaks(scene)
    with pytest.raises(AssertionError, match=complaint):
        check(scene.cache)
