"""The free list against a plain list, for each order of reuse."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from kernels.hicache.allocator import PageAllocator, Reuse

CAPACITY_PAGES = 12


class AllocatorMachine(RuleBasedStateMachine):
    """Random allocations and frees; the reference keeps the free list as Python lists."""

    @initialize(reuse=st.sampled_from(["lifo", "sorted", "fifo"]))
    def start(self, reuse: Reuse) -> None:
        self.reuse = reuse
        self.allocator = PageAllocator(CAPACITY_PAGES, reuse)
        self.free = list(range(CAPACITY_PAGES))
        self.waiting: list[int] = []
        self.held: list[int] = []

    @rule(count=st.integers(0, CAPACITY_PAGES + 2))
    def alloc(self, count: int) -> None:
        pages = self.allocator.alloc(count)
        if count > len(self.free) + len(self.waiting):
            assert pages is None
            return
        if count > len(self.free):
            self.free, self.waiting = sorted(self.free + self.waiting), []
        assert pages is not None
        assert pages.tolist() == self.free[:count]
        self.held += self.free[:count]
        del self.free[:count]

    @precondition(lambda self: self.held)
    @rule(choice=st.data())
    def give_back(self, choice: st.DataObject) -> None:
        pages = choice.draw(st.lists(st.sampled_from(self.held), unique=True))
        self.allocator.free(np.array(pages, dtype=np.int64))
        self.held = [page for page in self.held if page not in pages]
        if self.reuse == "lifo":
            self.free = sorted(pages) + self.free
        elif self.reuse == "fifo":
            self.free = self.free + sorted(pages)
        else:
            self.waiting = sorted(pages) + self.waiting

    @precondition(lambda self: self.free)
    @rule(choice=st.data())
    def a_double_free_is_refused(self, choice: st.DataObject) -> None:
        page = choice.draw(st.sampled_from(self.free))
        with pytest.raises(AssertionError, match="double free"):
            self.allocator.free(np.array([page], dtype=np.int64))

    @invariant()
    def the_free_lists_agree(self) -> None:
        if hasattr(self, "allocator"):
            assert self.allocator.free_list.tolist() == self.free + self.waiting
            assert self.allocator.free_pages == CAPACITY_PAGES - len(self.held)


TestAllocator = AllocatorMachine.TestCase


def test_lifo_hands_out_what_was_freed_last() -> None:
    allocator = PageAllocator(8, "lifo")
    first, second = allocator.alloc(3), allocator.alloc(3)
    assert first is not None
    assert second is not None
    allocator.free(first)
    allocator.free(second)
    again = allocator.alloc(4)
    assert again is not None
    assert again.tolist() == [3, 4, 5, 0]


def test_sorted_reuses_only_when_the_list_runs_short() -> None:
    allocator = PageAllocator(8, "sorted")
    pages = allocator.alloc(5)
    assert pages is not None
    allocator.free(pages)
    untouched, merged = allocator.alloc(3), allocator.alloc(2)
    assert untouched is not None
    assert merged is not None
    assert (untouched.tolist(), merged.tolist()) == ([5, 6, 7], [0, 1])


@pytest.mark.parametrize(("pages", "complaint"), [([9], "foreign"), ([-1], "foreign"), ([1, 1], "twice in one call")])
def test_bad_frees_are_refused(pages: list[int], complaint: str) -> None:
    allocator = PageAllocator(8, "lifo")
    assert allocator.alloc(8) is not None
    with pytest.raises(AssertionError, match=complaint):
        allocator.free(np.array(pages, dtype=np.int64))


def test_reset_frees_everything() -> None:
    allocator = PageAllocator(4, "lifo")
    taken = allocator.alloc(3)
    assert taken is not None
    allocator.reset()
    assert allocator.free_list.tolist() == [0, 1, 2, 3]
    assert "4 of 4" in repr(allocator)
