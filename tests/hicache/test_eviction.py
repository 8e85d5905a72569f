"""Who leaves next: against a brute-force search, and the rules one by one."""

from __future__ import annotations

from itertools import count

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from kernels.hicache.eviction import device_victims, evict_from_device, host_victims
from kernels.hicache.node import Node, PageRun
from kernels.hicache.radix import RadixTree
from tests.hicache.page_trie import chained

paths = st.lists(st.integers(0, 2), min_size=1, max_size=5).map(chained)


def grown(requests: list[tuple[int, ...]]) -> RadixTree:
    tree, numbers = RadixTree(), count()
    for keys in requests:
        held = tree.match(keys).device_pages
        new = np.array([next(numbers) for _ in range(len(keys) - len(held))], dtype=np.int64)
        tree.insert(keys, np.concatenate((held, new)), len(held))
    return tree


def brute_force(tree: RadixTree, page_count: int) -> list[int] | None:
    """Repeat: of all nodes that have no child left on the device, take the one that was used longest ago."""
    left: dict[int, Node] = {node.id: node for node in tree.nodes()}
    taken: list[int] = []
    pages = 0
    while pages < page_count:
        leaves = [
            node
            for node in left.values()
            if node.lock_ref == 0 and not any(child.id in left for child in node.children.values())
        ]
        if not leaves:
            return None
        oldest = min(leaves, key=lambda node: (node.last_access, node.id))
        taken.append(oldest.id)
        pages += len(oldest.key)
        del left[oldest.id]
    return taken


@given(
    requests=st.lists(paths, min_size=1, max_size=8),
    locked=st.lists(paths, max_size=2),
    page_count=st.integers(0, 12),
)
@settings(deadline=None)
def test_victims_are_the_least_recently_used_leaves(
    requests: list[tuple[int, ...]], locked: list[tuple[int, ...]], page_count: int
) -> None:
    tree = grown(requests)
    for keys in locked:
        tree.lock(tree.match(keys).device_node)
    victims = device_victims(tree, page_count)
    assert (None if victims is None else [node.id for node in victims]) == brute_force(tree, page_count)


def test_a_node_that_is_backed_up_stays_as_host_only() -> None:
    tree = grown([chained([0, 0, 0])])
    node = tree.nodes()[0]
    tree.set_host(node, PageRun.computed(np.array([4, 5, 6])))
    evicted = evict_from_device(tree, node)
    assert evicted.device_pages.tolist() == [0, 1, 2]
    assert len(evicted.host_pages) == 0
    assert tree.match(chained([0, 0, 0])).host_hit_pages == 3


def test_a_node_without_a_copy_goes_with_the_host_only_nodes_below_it() -> None:
    tree = grown([chained([0, 0]), chained([0, 0, 1])])
    upper, lower = tree.nodes()
    tree.set_host(lower, PageRun.computed(np.array([9])))
    evict_from_device(tree, lower)
    evicted = evict_from_device(tree, upper)
    assert (evicted.device_pages.tolist(), evicted.host_pages.tolist()) == ([0, 1], [9])
    assert tree.node_count == 0


def test_only_evicted_unpinned_leaves_leave_the_host() -> None:
    tree = grown([chained([0, 0]), chained([0, 0, 1]), chained([2])])
    for node, pages in zip(tree.nodes(), ([0, 1], [3], [2]), strict=True):
        tree.set_host(node, PageRun.computed(np.array(pages[: len(node.key)] * len(node.key))[: len(node.key)]))
    assert host_victims(tree, 1) is None
    first = tree.match(chained([0, 0, 1])).device_node
    second = tree.match(chained([2])).device_node
    for node in device_victims(tree, 4) or []:
        evict_from_device(tree, node)
    assert host_victims(tree, 1) == [first]
    tree.pin(first)
    assert host_victims(tree, 1) == [second]
    assert host_victims(tree, 2) is None
    tree.unpin(first)
    upper = first.parent
    assert upper is not None
    tree.pin(upper)
    assert host_victims(tree, 4) is None, "a load from the upper node is under way, though its child may go"
    tree.unpin(upper)
    everything = host_victims(tree, 4)
    assert everything is not None
    assert [node.key[-1] for node in everything] == [first.key[-1], chained([0, 0])[-1], second.key[-1]]
