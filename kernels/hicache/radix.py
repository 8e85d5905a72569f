"""The radix tree of cached pages: match, insert, split, lock.

Owns: structure, reference counts, recency, the sets of leaves that may leave a tier. Does not own: page ids
(allocator), the choice of victims (eviction), copies. Floor 2a.
Source: SGLang RadixCache, HiRadixCache and the sliding-window component of its unified cache (rules), ours (code).

Keys are page hashes; the engine chains them, so one hash names a page *and* everything before it. Device pages
form the top of the tree: an evicted node has no child on the device. Every node but the root is in some tier.

A prefix may end only at a page whose window is valid (`PageRun.window`), so a match is cut back to such a page, as
SGLang cuts back to a node that is no tombstone; a window that is only in the host tier counts, because a load-back
restores it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kernels.hicache.node import Node, PageRun
from kernels.hicache.prefix import NO_PAGES, Insertion, Match
from kernels.substrate.contract import PageIds


class RadixTree:
    """Nodes under one root, and which of them are leaves of a tier."""

    def __init__(self) -> None:
        self.root = Node(0, (), None)
        self.node_count = 0
        self.device_leaves: dict[int, Node] = {}
        self.host_leaves: dict[int, Node] = {}
        self._next_id = 1
        self._clock = 0

    def match(self, keys: Sequence[int], *, device_only: bool = False) -> Match:
        """Find the longest prefix of `keys` that a request can start from.

        Effect: marks the prefix as used now; may split a node, so that the prefix ends at a node's end. Locks nothing:
        lock before anything else may evict.
        """
        path = self._walk(tuple(keys), device_only=device_only)
        self._cut(path, device_only=device_only)
        self._clock += 1
        for node in path:
            node.last_access = self._clock
        resident = [node.device.pages for node in path if node.device is not None]
        last = path[-1] if path else self.root
        return Match(
            keys=tuple(key for node in path for key in node.key),
            device_pages=np.concatenate(resident) if resident else NO_PAGES,
            device_node=path[len(resident) - 1] if resident else self.root,
            host_node=last,
            needs_window=bool(path) and (last.device is None or not last.device.window[-1]),
        )

    def _walk(self, keys: tuple[int, ...], *, device_only: bool) -> list[Node]:
        path: list[Node] = []
        node, begin = self.root, 0
        while begin < len(keys):
            child = node.children.get(keys[begin])
            if child is None or (device_only and child.is_evicted):
                break
            length = _common_length(child.key, keys, begin)
            if length < len(child.key):
                path.append(self._split(child, length))
                break
            path.append(child)
            node, begin = child, begin + length
        return path

    def _cut(self, path: list[Node], *, device_only: bool) -> None:
        """Shorten `path` to its last page with a usable window."""
        while path:
            usable = np.flatnonzero(path[-1].window(device_only=device_only))
            node = path.pop()
            if len(usable) > 0:
                end = int(usable[-1]) + 1
                path.append(node if end == len(node.key) else self._split(node, end))
                return

    def insert(self, keys: Sequence[int], pages: PageIds, owned_from: int) -> Insertion:
        """Put a computed prefix into the tree.

        Where the tree has a page on the device already, it stays and the offered one is freed, except that an
        unlocked page without a window is replaced by the offered one, which has it. Where the *last* page has no
        window and is locked, the insertion ends before it: the request must go on with its own page.
        Args:
            keys: page hashes. pages: [len(keys)] int64, the request's pages, windows valid.
            owned_from: index of the first page that the request computed; those before it are the tree's, locked.
        """
        keys = tuple(keys)
        assert len(keys) == len(pages), (len(keys), len(pages))
        self._clock += 1
        node, begin, taken_over = self.root, 0, 0
        path: list[Node] = []
        freed: list[PageIds] = []
        while begin < len(keys):
            child = self._child_for_insert(node, keys, begin, owned_from)
            if child is None:
                break
            child.last_access = self._clock
            offered = pages[begin : begin + len(child.key)]
            if child.device is None:
                self.set_device(child, PageRun.computed(offered))
            elif begin >= owned_from:
                replaced = ~child.device.window & (child.lock_ref == 0)
                freed.append(np.where(replaced, child.device.pages, offered))
                kept = np.where(replaced, offered, child.device.pages)
                child.device = PageRun(kept, child.device.window | replaced)
                taken_over += int(replaced.sum())
            else:
                assert np.array_equal(child.device.pages, offered), (child, child.device.pages, offered)
            path.append(child)
            node, begin = child, begin + len(child.key)
        inserted = [run.device.pages for run in path if run.device is not None]
        return Insertion(
            pages=np.concatenate(inserted) if inserted else NO_PAGES,
            freed=np.concatenate(freed) if freed else NO_PAGES,
            taken_over=taken_over,
            path=tuple(path),
        )

    def _child_for_insert(self, node: Node, keys: tuple[int, ...], begin: int, owned_from: int) -> Node | None:
        """The child that holds the next part of `keys`, split or made to fit; None where the insertion must end."""
        child = node.children.get(keys[begin])
        if child is None:
            return self._add(node, keys[begin:])
        length = _common_length(child.key, keys, begin)
        is_last = begin + length == len(keys)
        if is_last and begin >= owned_from and child.lock_ref > 0:
            run = child.device
            if run is not None and not run.window[length - 1]:
                length -= 1
        if length == 0:
            return None
        return child if length == len(child.key) else self._split(child, length)

    def _add(self, parent: Node, key: tuple[int, ...]) -> Node:
        """A new leaf; the caller gives it pages at once."""
        node = Node(self._next_id, key, parent)
        self._next_id += 1
        self.node_count += 1
        parent.children[key[0]] = node
        return node

    def _split(self, node: Node, at: int) -> Node:
        """Cut an edge in two and return the new upper node; `node` stays the lower one, so its end does not move.

        Locks and pins are held along the path from a node to the root: the upper part inherits both counts.
        """
        assert 0 < at < len(node.key), (at, node)
        parent = node.parent
        assert parent is not None, "the root has no edge"
        upper = Node(self._next_id, node.key[:at], parent)
        self._next_id += 1
        self.node_count += 1
        upper.lock_ref, upper.host_ref = node.lock_ref, node.host_ref
        upper.last_access, upper.hit_count = node.last_access, node.hit_count
        if node.device is not None:
            upper.device, node.device = node.device.split(at)
        if node.host is not None:
            upper.host, node.host = node.host.split(at)
        parent.children[upper.key[0]] = upper
        node.key = node.key[at:]
        node.parent = upper
        upper.children[node.key[0]] = node
        self._refresh(upper)
        return upper

    def set_device(self, node: Node, run: PageRun | None) -> None:
        """Give a node device pages, or take them away (evict); a node without any pages must be removed."""
        assert run is None or len(run) == len(node.key), (node, run)
        node.device = run
        self._refresh(node)

    def set_host(self, node: Node, run: PageRun | None) -> None:
        assert run is None or len(run) == len(node.key), (node, run)
        node.host = run
        self._refresh(node)

    def remove(self, node: Node) -> None:
        """Take a leaf out of the tree; its pages are the caller's to free."""
        parent = node.parent
        assert parent is not None, "the root is never removed"
        assert not node.children, f"{node} has children"
        assert node.lock_ref == 0, node
        assert node.host_ref == 0, node
        del parent.children[node.key[0]]
        node.parent = None
        self.node_count -= 1
        self.device_leaves.pop(node.id, None)
        self.host_leaves.pop(node.id, None)
        self._refresh(parent)

    def lock(self, node: Node) -> None:
        """Keep the device pages of a node and its ancestors until `unlock`."""
        for step in node.path():
            step.lock_ref += 1

    def unlock(self, node: Node) -> None:
        for step in node.path():
            assert step.lock_ref > 0, f"unlocked more often than locked: {step}"
            step.lock_ref -= 1

    def pin(self, node: Node) -> None:
        """Keep the host pages of a node and its ancestors until `unpin`."""
        for step in node.path():
            step.host_ref += 1

    def unpin(self, node: Node) -> None:
        for step in node.path():
            assert step.host_ref > 0, f"unpinned more often than pinned: {step}"
            step.host_ref -= 1

    def clear(self) -> None:
        """Forget every node. Nothing may be locked or pinned."""
        for node in self.nodes():
            assert node.lock_ref == node.host_ref == 0, node
        self.root.children.clear()
        self.device_leaves.clear()
        self.host_leaves.clear()
        self.node_count = 0

    def nodes(self) -> list[Node]:
        """Every node but the root, parents first."""
        found: list[Node] = []
        stack = [self.root]
        while stack:
            children = list(stack.pop().children.values())
            found.extend(children)
            stack.extend(children)
        return found

    def _refresh(self, node: Node) -> None:
        """Keep the two leaf sets right for a node and, since a child decides over its parent, for the parent."""
        for step in (node, node.parent):
            if step is None or step.parent is None:
                continue
            _set_member(self.device_leaves, step, is_device_leaf(step))
            _set_member(self.host_leaves, step, is_host_leaf(step))

    def __repr__(self) -> str:
        return f"RadixTree({self.node_count} nodes)"


def is_device_leaf(node: Node) -> bool:
    """On the device, with no child on the device: evictable there once unlocked."""
    return node.device is not None and all(child.is_evicted for child in node.children.values())


def is_host_leaf(node: Node) -> bool:
    """Only on the host, with no child at all: evictable there once unpinned."""
    return node.device is None and node.host is not None and not node.children


def _set_member(leaves: dict[int, Node], node: Node, is_member: bool) -> None:
    if is_member:
        leaves[node.id] = node
    else:
        leaves.pop(node.id, None)


def _common_length(key: tuple[int, ...], keys: tuple[int, ...], begin: int) -> int:
    """Number of leading entries of `key` that equal keys[begin:]."""
    length = min(len(key), len(keys) - begin)
    if key[:length] == keys[begin : begin + length]:
        return length
    return next(index for index in range(length) if key[index] != keys[begin + index])
