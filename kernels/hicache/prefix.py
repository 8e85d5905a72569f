"""What the radix tree answers: a match, and what became of inserted pages.

Owns: two records. Does not own: the tree (radix). Floor 2a. Source: SGLang's MatchResult and InsertResult (roles).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kernels.hicache.node import Node
from kernels.substrate.contract import PageIds

NO_PAGES: PageIds = np.empty(0, dtype=np.int64)
NO_PAGES.setflags(write=False)


@dataclass(frozen=True, slots=True, eq=False)
class Match:
    """The longest usable cached prefix of a key. Holds until the next insertion or eviction, unless locked.

    keys: the matched page hashes: the first `len(device_pages)` are on the device, the rest only on the host.
    device_node, host_node: the last nodes of the two parts; equal where nothing is only on the host.
    needs_window: the trailing page's window must be loaded, with its page or for a page that is on the device.
    """

    keys: tuple[int, ...]
    device_pages: PageIds
    device_node: Node
    host_node: Node
    needs_window: bool

    @property
    def host_hit_pages(self) -> int:
        return len(self.keys) - len(self.device_pages)

    @property
    def needs_load(self) -> bool:
        return self.host_hit_pages > 0 or self.needs_window


@dataclass(frozen=True, slots=True, eq=False)
class Insertion:
    """What became of the pages that were offered.

    pages: page ids of the inserted prefix as the tree holds them: the offered ones, or those it had already.
    freed: pages that nobody holds any more, to be given back to the allocator.
    taken_over: tree pages that were replaced because their windows were missing (they are among `freed`).
    path: the nodes of the prefix, from the top down.
    """

    pages: PageIds
    freed: PageIds
    taken_over: int
    path: tuple[Node, ...]
