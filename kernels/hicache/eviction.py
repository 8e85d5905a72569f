"""Eviction: which nodes leave a tier next, and what is freed when one does.

Owns: the least-recently-used order on both tiers. Does not own: reference counts (radix), free lists, write-back
(controller). Floor 2a. Source: SGLang HiRadixCache.evict and evict_host (rules), ours (code).

Whole leaves leave, oldest use first; once its last child is gone a parent is a leaf too. Victims are chosen before
anything is changed, and where they cannot free enough nothing is evicted: SGLang evicts what it can and then fails.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from kernels.hicache.node import Node
from kernels.hicache.prefix import NO_PAGES
from kernels.hicache.radix import RadixTree
from kernels.substrate.contract import PageIds


@dataclass(frozen=True, slots=True, eq=False)
class Evicted:
    """Pages that one eviction freed in each tier."""

    device_pages: PageIds
    host_pages: PageIds


def device_victims(tree: RadixTree, page_count: int) -> list[Node] | None:
    """Unlocked nodes whose device pages add up to `page_count` or more, children first; None if too few."""

    def becomes_leaf(parent: Node, gone: set[int]) -> bool:
        if parent.lock_ref > 0:
            return False
        return all(child.is_evicted or child.id in gone for child in parent.children.values())

    leaves = (node for node in tree.device_leaves.values() if node.lock_ref == 0)
    return _oldest_first(leaves, page_count, becomes_leaf)


def host_victims(tree: RadixTree, page_count: int) -> list[Node] | None:
    """Evicted, unpinned nodes whose host pages add up to `page_count` or more, children first; None if too few."""

    def becomes_leaf(parent: Node, gone: set[int]) -> bool:
        if parent.host_ref > 0 or not parent.is_evicted:
            return False
        return all(child.id in gone for child in parent.children.values())

    leaves = (node for node in tree.host_leaves.values() if node.host_ref == 0)
    return _oldest_first(leaves, page_count, becomes_leaf)


def _oldest_first(
    leaves: Iterable[Node], page_count: int, becomes_leaf: Callable[[Node, set[int]], bool]
) -> list[Node] | None:
    # The node id makes ties deterministic: nodes of one path share the time of their last use.
    heap = [(node.last_access, node.id, node) for node in leaves]
    heapq.heapify(heap)
    chosen: list[Node] = []
    gone: set[int] = set()
    total_pages = 0
    while total_pages < page_count:
        if not heap:
            return None
        _, _, node = heapq.heappop(heap)
        chosen.append(node)
        gone.add(node.id)
        total_pages += len(node.key)
        parent = node.parent
        if parent is not None and parent.parent is not None and becomes_leaf(parent, gone):
            heapq.heappush(heap, (parent.last_access, parent.id, parent))
    return chosen


def evict_from_device(tree: RadixTree, node: Node) -> Evicted:
    """Take a node's device pages away.

    Effect: a node that is backed up stays in the tree as host-only. One that is not leaves the tree, together with
    what is below it: those nodes are host-only, and without this node nothing leads to them.
    """
    assert node.lock_ref == 0, node
    assert node.device is not None, node
    device_pages = node.device.pages
    if node.is_backed_up:
        tree.set_device(node, None)
        return Evicted(device_pages, NO_PAGES)
    host_pages = [child.host.pages for child in _remove_subtree(tree, node) if child.host is not None]
    return Evicted(device_pages, np.concatenate(host_pages) if host_pages else NO_PAGES)


def evict_from_host(tree: RadixTree, node: Node) -> Evicted:
    """Remove a host-only leaf."""
    assert node.device is None, node
    assert node.host is not None, node
    tree.remove(node)
    return Evicted(NO_PAGES, node.host.pages)


def _remove_subtree(tree: RadixTree, node: Node) -> list[Node]:
    """Remove a node and everything below it; gives the removed nodes, children first."""
    removed: list[Node] = []
    for child in list(node.children.values()):
        removed.extend(_remove_subtree(tree, child))
    tree.remove(node)
    removed.append(node)
    return removed
