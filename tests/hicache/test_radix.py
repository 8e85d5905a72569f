"""The radix tree against a flat dictionary of pages, under random use; and its rules one by one."""

from __future__ import annotations

from itertools import count

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from kernels.hicache.eviction import device_victims, evict_from_device, evict_from_host, host_victims
from kernels.hicache.invariants import check_references, check_tree
from kernels.hicache.node import Node, PageRun
from kernels.hicache.radix import RadixTree
from kernels.substrate.contract import PageIds
from tests.hicache.page_trie import PageTrie, chained

paths = st.lists(st.integers(0, 2), min_size=1, max_size=6).map(chained)


def fresh(numbers: count[int], amount: int) -> PageIds:
    return np.array([next(numbers) for _ in range(amount)], dtype=np.int64)


def keys_to(node: Node) -> tuple[int, ...]:
    return tuple(key for step in node.path() for key in step.key)


class RadixMachine(RuleBasedStateMachine):
    """Requests that match, compute and insert; evictions, backups and load-backs in between."""

    def __init__(self) -> None:
        super().__init__()
        self.tree = RadixTree()
        self.trie = PageTrie()
        self.numbers = count()
        self.locked: list[Node] = []

    @rule(keys=paths, device_only=st.booleans())
    def match(self, keys: tuple[int, ...], device_only: bool) -> None:
        match, found = self.tree.match(keys, device_only=device_only), self.trie.match(keys, device_only=device_only)
        assert match.keys == keys[: found.length]
        assert match.device_pages.tolist() == found.device_pages
        assert match.host_hit_pages == found.length - len(found.device_pages)
        assert match.needs_window == found.needs_window
        assert keys_to(match.device_node) == keys[: len(found.device_pages)]
        assert keys_to(match.host_node) == keys[: found.length]

    @rule(keys=paths, stays=st.booleans())
    def compute_and_insert(self, keys: tuple[int, ...], stays: bool) -> None:
        match = self.tree.match(keys, device_only=True)
        self._hold(match.device_node)
        owned_from = len(match.device_pages)
        offered = np.concatenate((match.device_pages, fresh(self.numbers, len(keys) - owned_from)))
        insertion = self.tree.insert(keys, offered, owned_from)
        kept, freed = self.trie.insert(keys, offered.tolist(), owned_from)
        assert insertion.pages.tolist() == kept
        assert sorted(insertion.freed.tolist()) == sorted(freed)
        self._let_go(self.locked.index(match.device_node))
        if stays and insertion.path:
            self._hold(insertion.path[-1])

    @rule(keys=paths)
    def load_back(self, keys: tuple[int, ...]) -> None:
        match = self.tree.match(keys)
        for node in match.host_node.path():
            if node.is_evicted:
                pages = fresh(self.numbers, len(node.key))
                self.tree.set_device(node, PageRun.moved(pages, has_window=False))
                for key, page in zip(node.key, pages.tolist(), strict=True):
                    self.trie.pages[key].device = page
        if match.needs_window:
            assert match.host_node.device is not None
            self.tree.set_device(match.host_node, match.host_node.device.with_trailing_window())
            self.trie.pages[match.keys[-1]].device_window = True

    @precondition(lambda self: self.tree.node_count)
    @rule(choice=st.data())
    def back_up(self, choice: st.DataObject) -> None:
        node = choice.draw(st.sampled_from(self.tree.nodes()))
        if node.is_evicted or node.is_backed_up:
            return
        pages = fresh(self.numbers, len(node.key))
        run = PageRun.moved(pages, has_window=False)
        assert node.device is not None
        self.tree.set_host(node, run.with_trailing_window() if node.device.window[-1] else run)
        for key, page in zip(node.key, pages.tolist(), strict=True):
            self.trie.pages[key].host = page
        self.trie.pages[node.key[-1]].host_window = bool(node.device.window[-1])

    @rule(page_count=st.integers(1, 4))
    def evict_device(self, page_count: int) -> None:
        unlocked = sum(page.device is not None and page.locks == 0 for page in self.trie.pages.values())
        victims = device_victims(self.tree, page_count)
        assert (victims is None) == (unlocked < page_count)
        for node in victims or []:
            keys, expected = node.key, [self.trie.pages[key].device for key in node.key]
            assert evict_from_device(self.tree, node).device_pages.tolist() == expected
            self.trie.evict(keys)

    @rule(page_count=st.integers(1, 4))
    def evict_host(self, page_count: int) -> None:
        for node in host_victims(self.tree, page_count) or []:
            freed = evict_from_host(self.tree, node).host_pages.tolist()
            assert freed == [self.trie.pages.pop(key).host for key in node.key]

    @precondition(lambda self: self.locked)
    @rule(choice=st.data())
    def let_go(self, choice: st.DataObject) -> None:
        self._let_go(choice.draw(st.integers(0, len(self.locked) - 1)))

    def _hold(self, node: Node) -> None:
        self.tree.lock(node)
        self.trie.lock(keys_to(node), 1)
        self.locked.append(node)

    def _let_go(self, index: int) -> None:
        node = self.locked.pop(index)
        self.tree.unlock(node)
        self.trie.lock(keys_to(node), -1)

    @invariant()
    def the_tree_is_sound(self) -> None:
        check_tree(self.tree)
        check_references(self.tree.nodes(), "lock_ref", self.locked)

    @invariant()
    def the_trees_hold_the_same_pages(self) -> None:
        seen = 0
        for node in self.tree.nodes():
            for index, key in enumerate(node.key):
                page = self.trie.pages[key]
                seen += 1
                assert page.locks == node.lock_ref
                held = None if node.device is None else int(node.device.pages[index])
                backed = None if node.host is None else int(node.host.pages[index])
                assert (page.device, page.host) == (held, backed)
                assert page.device_window == (node.device is not None and bool(node.device.window[index]))
                assert page.host_window == (node.host is not None and bool(node.host.window[index]))
        assert seen == len(self.trie.pages)


TestRadix = RadixMachine.TestCase
TestRadix.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)


def tree_with(*lengths: int) -> tuple[RadixTree, tuple[int, ...]]:
    """A tree that holds one path, inserted in steps of the given lengths: one node for each."""
    tree, numbers = RadixTree(), count()
    keys = chained([0] * sum(lengths))
    held = np.empty(0, dtype=np.int64)
    for length in lengths:
        held = np.concatenate((held, fresh(numbers, length)))
        tree.insert(keys[: len(held)], held, len(held) - length)
    return tree, keys


def test_a_partial_match_splits_the_node_and_keeps_its_counts() -> None:
    tree, keys = tree_with(5)
    whole = tree.match(keys)
    tree.lock(whole.device_node)
    tree.pin(whole.device_node)
    part = tree.match(keys[:2])
    assert [len(node.key) for node in tree.nodes()] == [2, 3]
    assert part.device_node.lock_ref == part.device_node.host_ref == 1
    tree.unlock(whole.device_node)
    tree.unpin(whole.device_node)
    assert all(node.lock_ref == node.host_ref == 0 for node in tree.nodes())


def test_a_split_does_not_move_the_end_of_a_held_node() -> None:
    tree, keys = tree_with(5)
    end = tree.match(keys).device_node
    tree.match(keys[:3])
    assert keys_to(end) == keys


def test_a_match_is_cut_back_to_a_page_whose_window_is_valid() -> None:
    tree, keys = tree_with(4)
    node = tree.nodes()[0]
    assert node.device is not None
    window = np.array([True, True, False, False])
    tree.set_device(node, PageRun(node.device.pages, window))
    match = tree.match(keys)
    assert len(match.device_pages) == 2
    assert not match.needs_load


def test_a_window_on_the_host_is_enough_and_is_asked_for() -> None:
    tree, keys = tree_with(3)
    node = tree.nodes()[0]
    assert node.device is not None
    tree.set_host(node, PageRun.moved(np.array([7, 8, 9]), has_window=False).with_trailing_window())
    tree.set_device(node, PageRun.moved(node.device.pages, has_window=False))
    match = tree.match(keys)
    assert (len(match.device_pages), match.host_hit_pages, match.needs_window) == (3, 0, True)
    assert tree.match(keys, device_only=True).keys == ()


def test_unlocking_more_than_locking_is_refused() -> None:
    tree, keys = tree_with(2)
    node = tree.match(keys).device_node
    with pytest.raises(AssertionError, match="unlocked more often"):
        tree.unlock(node)
    with pytest.raises(AssertionError, match="unpinned more often"):
        tree.unpin(node)


def test_a_node_with_children_cannot_be_removed() -> None:
    tree, _ = tree_with(2, 2)
    upper = next(node for node in tree.nodes() if node.children)
    with pytest.raises(AssertionError, match="has children"):
        tree.remove(upper)


def test_clear_refuses_while_something_is_locked() -> None:
    tree, keys = tree_with(2)
    node = tree.match(keys).device_node
    tree.lock(node)
    with pytest.raises(AssertionError):
        tree.clear()
    tree.unlock(node)
    tree.clear()
    assert tree.match(keys).keys == ()
    check_tree(tree)
