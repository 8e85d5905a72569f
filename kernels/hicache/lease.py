"""A lease: what one request holds in the cache from admission to release.

Owns: the record. Does not own: the rules by which it changes (controller). Floor 2a.
Source: the fields that SGLang keeps on a request (prefix_indices, last_node, req_to_token row).
"""

from __future__ import annotations

import numpy as np

from kernels.hicache.node import Node
from kernels.hicache.prefix import NO_PAGES, Match
from kernels.substrate.contract import PageIds


class Lease:
    """Pages of one request, in the order of its tokens: [0, prefix) belong to the tree, [prefix, n) to the request.

    match: what the cache had at admission. node: the end of the prefix, locked on the device.
    pinned: the end of the host part, pinned until the load-back is settled; None afterwards.
    loaded_pages: pages that the load-back brought, the last ones of the prefix.
    """

    def __init__(self, lease_id: int, match: Match) -> None:
        self.id = lease_id
        self.match = match
        self.node: Node = match.device_node
        self.pinned: Node | None = match.host_node if match.needs_load else None
        self.prefix_pages: PageIds = match.device_pages
        self.own_pages: PageIds = NO_PAGES
        self.loaded_pages = 0
        self.is_open = True

    @property
    def is_settled(self) -> bool:
        """False while a host hit still waits for `load_back`, without which the prefix may not be used."""
        return self.pinned is None

    @property
    def pages(self) -> PageIds:
        """[n] int64, the request's page table, in token order.

        Its front is what has been computed so far. That can be more than the prefix: an insertion may leave the last
        computed page with the request (see `RadixTree.insert`), and the next chunk must go on from that page.
        """
        return np.concatenate((self.prefix_pages, self.own_pages))

    def __repr__(self) -> str:
        state = "open" if self.is_open else "released"
        return f"Lease({self.id}, {state}, {len(self.prefix_pages)} prefix + {len(self.own_pages)} own pages)"
