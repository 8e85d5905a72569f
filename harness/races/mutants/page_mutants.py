"""Mutants of pages: locks and pins of requests, frees, the allocators, victims of both tiers, splits. Floor 5."""

from __future__ import annotations

from harness.races.mutants.code_mutant import CodeMutant

_LEAK = r"(lock|host)_ref of .* but it has"
_LOST = r"device: .* != \d+ pages"
_TWICE = "double free|freed twice"
_UNLOCK, _LOCK = "self.tree.unlock(lease.node)", "self.tree.lock(node)"
_RESTORE = "self._restore(last, evicted, pages)"
_LOCKED = r"unlocked more often than locked|lock_ref of .* but it has"
_PIN = r"unpinned more often than pinned|host_ref of .* but it has"


def _twice(call: str, indent: str) -> tuple[tuple[str, str], ...]:
    return ((call, f"{call}\n{indent}{call}"),)


PAGE_MUTANTS: tuple[CodeMutant, ...] = (
    CodeMutant(
        "request does not lock its prefix",
        "controller:HiCache.open",
        (("self.tree.lock(lease.node)", "pass"),),
        assertion=_LOCKED,
    ),
    CodeMutant(
        "request does not pin its host part",
        "controller:HiCache.open",
        (("self.tree.pin(lease.pinned)", "pass"),),
        assertion=_PIN,
    ),
    CodeMutant(
        "moved request does not lock its new prefix",
        "controller:HiCache._move",
        (("self.tree.lock(node)", "pass"),),
        assertion=_LOCKED,
    ),
    CodeMutant(
        "moved request keeps its old lock", "controller:HiCache._move", (("self.tree.unlock(lease.node)", "pass"),),
        assertion=_LEAK,
    ),
    CodeMutant(
        "moved request keeps its pin", "controller:HiCache._move", (("self.tree.unpin(lease.pinned)", "pass"),),
        assertion=_LEAK,
    ),
    CodeMutant(
        "old lock is let go before the new one is taken",
        "controller:HiCache._move",
        ((_UNLOCK, "pass"), (_LOCK, f"{_UNLOCK}\n        {_LOCK}")),
        reason="one host thread, and nothing is evicted between the two",
    ),
    CodeMutant(
        "load-back is not queued", "controller:HiCache.load_back",
        ((f"self.loads.add(LoadRequest(last, {_RESTORE}))", _RESTORE),),
        assertion="wrong content: .* key 1 is",
    ),
    CodeMutant(
        "evicted pages are not freed", "controller:HiCache._evict",
        (("self.device.free(evicted.device_pages)", "pass"),), assertion=_LOST,
    ),
    CodeMutant(
        "evicted pages are freed twice", "controller:HiCache._evict",
        _twice("self.device.free(evicted.device_pages)", "        "), assertion=_TWICE,
    ),
    CodeMutant(
        "evicted host pages are freed twice", "backups:BackupQueue._room",
        _twice("self._host.free(evicted.host_pages)", "                "), assertion=_TWICE,
    ),
    CodeMutant(
        "evicted host pages are not freed", "backups:BackupQueue._room",
        (("self._host.free(evicted.host_pages)", "pass"),), assertion=r"host: .* != \d+ pages",
    ),
    CodeMutant(
        "duplicate pages are not freed", "controller:HiCache.insert",
        (("self.device.free(insertion.freed)", "pass"),), assertion=_LOST,
    ),
    CodeMutant(
        "duplicate pages are freed twice", "controller:HiCache.insert",
        _twice("self.device.free(insertion.freed)", "        "), assertion=_TWICE,
    ),
    CodeMutant(
        "released pages are not freed", "controller:HiCache.release",
        (("self.device.free(lease.own_pages)", "pass"),), assertion=_LOST,
    ),
    CodeMutant(
        "released pages are freed twice", "controller:HiCache.release",
        _twice("self.device.free(lease.own_pages)", "        "), assertion=_TWICE,
    ),
    CodeMutant(
        "inserted pages stay the request's, and are freed with it", "controller:HiCache.insert",
        (("lease.own_pages = pages[len(insertion.pages) :]", "lease.own_pages = pages[len(lease.prefix_pages) :]"),),
        assertion="in two places|double free",
    ),
    CodeMutant(
        "handed-out pages stay in the free list", "allocator:PageAllocator.alloc",
        (("pages, self._free = self._free[:count].copy(), self._free[count:]", "pages = self._free[:count].copy()"),),
        assertion="in two places|double free",
    ),
    CodeMutant(
        "handed-out pages are not marked", "allocator:PageAllocator.alloc",
        (("self._is_free[pages] = False", "pass"),), assertion="double free",
    ),
    CodeMutant(
        "freed pages are not marked", "allocator:PageAllocator.free",
        (("self._is_free[freed] = True", "pass"),),
        reason="the mark only serves the assertion against a double free, and nothing is freed twice",
    ),
    CodeMutant(
        "freed pages go to the other end of the list", "allocator:PageAllocator.free",
        (("np.concatenate((freed, self._free))", "np.concatenate((self._free, freed))"),),
        reason="which free page is handed out next is no order: every one of them is free",
    ),
    CodeMutant(
        "locked nodes are victims on the device", "eviction:device_victims",
        (("tree.device_leaves.values() if node.lock_ref == 0", "tree.device_leaves.values()"),), assertion="Node",
    ),
    CodeMutant(
        "locked parents are victims on the device", "eviction:device_victims",
        (("parent.lock_ref > 0", "False"),), assertion="Node",
    ),
    CodeMutant(
        "pinned nodes are victims on the host", "eviction:host_victims",
        (("tree.host_leaves.values() if node.host_ref == 0", "tree.host_leaves.values()"),), assertion="host_ref",
    ),
    CodeMutant(
        "evicted node keeps its device pages", "eviction:evict_from_device",
        (("tree.set_device(node, None)", "pass"),), assertion="wrong content|in two places",
    ),
    CodeMutant(
        "node evicted from the host stays in the tree", "eviction:evict_from_host",
        (("tree.remove(node)", "pass"),), assertion="in two places|wrong content",
    ),
    CodeMutant(
        "resident nodes are leaves of the host", "radix:is_host_leaf",
        (("node.device is None and ", ""),), assertion="Node",
    ),
    CodeMutant(
        "nodes with children are leaves of the device", "radix:is_device_leaf",
        ((" and all(child.is_evicted for child in node.children.values())", ""),), assertion="Node|resident",
    ),
    CodeMutant(
        "leaf sets are not kept", "radix:RadixTree.set_device",
        (("self._refresh(node)", "pass"),), assertion="no room|set|Node",
    ),
    CodeMutant(
        "lock holds the last node only", "radix:RadixTree.lock",
        (("for step in node.path():", "for step in node.path()[-1:]:"),), assertion=_LOCKED,
    ),
    CodeMutant(
        "unlock lets nothing go", "radix:RadixTree.unlock", (("step.lock_ref -= 1", "pass"),), assertion=_LEAK,
    ),
    CodeMutant(
        "pin holds the last node only", "radix:RadixTree.pin",
        (("for step in node.path():", "for step in node.path()[-1:]:"),), assertion=_PIN,
    ),
    CodeMutant(
        "split node loses its locks", "radix:RadixTree._split",
        (("= node.lock_ref, node.host_ref", "= 0, node.host_ref"),),
        assertion=_LOCKED,
    ),
    CodeMutant(
        "split node loses its pins", "radix:RadixTree._split",
        (("= node.lock_ref, node.host_ref", "= node.lock_ref, 0"),),
        assertion=_PIN,
    ),
)  # fmt: skip
