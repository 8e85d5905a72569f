"""What must hold after every step, whatever the requests do.

Owns: the laws. Does not own: when they are checked (tests check after every step; a run may check at its end).
Floor 2a. Source: the conservation check of mini-sglang (idea), bug class PIN-GAP of the public reports.

    conservation   free + cached + owned by requests = all, on each tier, and every page is in exactly one place
    references     a node's lock_ref is the number of users at or below it; its host_ref the number of transfers
    structure      edges, parents and leaf sets agree; device pages form the top of the tree; no node is in no tier
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import numpy as np

from kernels.hicache.allocator import PageAllocator
from kernels.hicache.controller import HiCache
from kernels.hicache.node import Node
from kernels.hicache.radix import RadixTree, is_device_leaf, is_host_leaf
from kernels.substrate.contract import PageIds


def check(cache: HiCache) -> None:
    """Raises: AssertionError with all the numbers, at the first law that does not hold."""
    leases = list(cache.leases.values())
    nodes = cache.tree.nodes()
    check_tree(cache.tree)
    check_pages(
        "device",
        cache.device,
        cached=[node.device.pages for node in nodes if node.device is not None],
        owned=[lease.own_pages for lease in leases],
    )
    if cache.host is not None:
        cached = [node.host.pages for node in nodes if node.host is not None]
        check_pages("host", cache.host, cached=cached, owned=[])
    running = [] if cache.backups is None else cache.backups.held_nodes
    locks = [*(lease.node for lease in leases), *cache.loads.held_nodes, *running]
    pins = [*(lease.pinned for lease in leases if lease.pinned is not None), *cache.loads.held_nodes]
    check_references(nodes, "lock_ref", locks)
    check_references(nodes, "host_ref", pins)
    for lease in leases:
        _check_prefix(lease.node, lease.prefix_pages)


def check_pages(tier: str, allocator: PageAllocator, *, cached: list[PageIds], owned: list[PageIds]) -> None:
    """Conservation on one tier."""
    places = [allocator.free_list, *cached, *owned]
    counts = f"{tier}: {allocator.free_pages} free + {sum(map(len, cached))} cached + {sum(map(len, owned))} owned"
    everywhere = np.sort(np.concatenate(places))
    twice = everywhere[1:][everywhere[1:] == everywhere[:-1]]
    assert len(twice) == 0, f"{counts}: pages {twice.tolist()} are in two places"
    assert len(everywhere) == allocator.capacity_pages, f"{counts} != {allocator.capacity_pages} pages"
    assert np.array_equal(everywhere, np.arange(allocator.capacity_pages)), f"{counts}: foreign page ids {everywhere}"


def check_references(nodes: Iterable[Node], field: str, holders: Iterable[Node]) -> None:
    """A count is kept along the path from a holder's node to the root."""
    expected = Counter(step.id for holder in holders for step in holder.path())
    for node in nodes:
        count = getattr(node, field)
        assert count == expected[node.id], f"{field} of {node} is {count}, but it has {expected[node.id]} holders"


def check_tree(tree: RadixTree) -> None:
    """Structure: edges, residency, and the two leaf sets."""
    nodes = tree.nodes()
    assert len(nodes) == tree.node_count, f"{len(nodes)} nodes in the tree, {tree.node_count} counted"
    for node in nodes:
        parent = node.parent
        assert parent is not None, node
        assert node.key, f"empty edge: {node}"
        assert parent.children.get(node.key[0]) is node, f"{node} is not the child that its parent knows"
        for run in (node.device, node.host):
            assert run is None or len(run.pages) == len(run.window) == len(node.key), f"{node}: run of wrong length"
        assert node.device is not None or node.host is not None, f"{node} is in no tier"
        if node.device is not None:
            assert parent is tree.root or parent.device is not None, f"resident {node} below evicted {parent}"
        else:
            assert node.lock_ref == 0, f"locked, but not on the device: {node}"
        assert node.lock_ref >= 0, node
        assert node.host_ref >= 0, node
        if parent is not tree.root:
            assert parent.lock_ref >= node.lock_ref, f"{parent} has fewer users than its child {node}"
            assert parent.last_access >= node.last_access, f"{node} was used after its parent {parent}"
    device_leaves = {node.id for node in nodes if is_device_leaf(node)}
    host_leaves = {node.id for node in nodes if is_host_leaf(node)}
    assert set(tree.device_leaves) == device_leaves, (set(tree.device_leaves), device_leaves)
    assert set(tree.host_leaves) == host_leaves, (set(tree.host_leaves), host_leaves)


def _check_prefix(node: Node, pages: PageIds) -> None:
    held = [step.device.pages for step in node.path() if step.device is not None]
    found = np.concatenate(held) if held else np.empty(0, dtype=np.int64)
    assert np.array_equal(found, pages), f"a lease ends at {node}, whose path holds {found}, but it uses {pages}"
