"""A node of the radix tree, and the run of pages that it holds in one tier.

Owns: the state of one node. Does not own: structure and locking rules (radix). Floor 2a.
Source: SGLang's TreeNode (fields), ours (page runs with their window flags).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kernels.substrate.contract import PageIds


@dataclass(frozen=True, slots=True, eq=False)
class PageRun:
    """Consecutive pages of one prefix in one tier.

    pages: [n] int64 page ids.
    window: [n] bool, true where the page's sliding window and states are valid too. A page that a forward computed
        has them; one that came through the host tier has them only if it was a trailing page both ways.
    """

    pages: PageIds
    window: NDArray[np.bool_]

    @staticmethod
    def computed(pages: PageIds) -> PageRun:
        """Pages that a forward wrote: all pools are valid."""
        return PageRun(pages, np.ones(len(pages), dtype=np.bool_))

    @staticmethod
    def moved(pages: PageIds, *, has_window: bool) -> PageRun:
        """Pages that a transfer fills. `has_window`: true only where the model has no windows that could be missing."""
        return PageRun(pages, np.full(len(pages), has_window))

    def with_trailing_window(self) -> PageRun:
        """The same pages, with the last one's window valid."""
        window = self.window.copy()
        window[-1] = True
        return PageRun(self.pages, window)

    def split(self, at: int) -> tuple[PageRun, PageRun]:
        """The runs [0, at) and [at, n)."""
        return PageRun(self.pages[:at], self.window[:at]), PageRun(self.pages[at:], self.window[at:])

    def __len__(self) -> int:
        return len(self.pages)


class Node:
    """An edge label and what is cached of it.

    key: page hashes of this edge; `children` is keyed by the first page hash of each child.
    device, host: the pages in each tier. *evicted* means no device pages, *backed up* means host pages.
    lock_ref: users at or below this node; above 0 its device pages stay.
    host_ref: transfers from host pages at or below this node; above 0 its host pages stay.
    """

    __slots__ = (
        "children",
        "device",
        "hit_count",
        "host",
        "host_ref",
        "id",
        "key",
        "last_access",
        "lock_ref",
        "parent",
    )

    def __init__(self, node_id: int, key: tuple[int, ...], parent: Node | None) -> None:
        self.id = node_id
        self.key = key
        self.parent = parent
        self.children: dict[int, Node] = {}
        self.device: PageRun | None = None
        self.host: PageRun | None = None
        self.lock_ref = 0
        self.host_ref = 0
        self.last_access = 0
        self.hit_count = 0

    @property
    def is_evicted(self) -> bool:
        return self.device is None

    @property
    def is_backed_up(self) -> bool:
        return self.host is not None

    def window(self, *, device_only: bool) -> NDArray[np.bool_]:
        """[len(key)] true where a request may end its prefix: the page's window is in a tier that may be used."""
        usable = np.zeros(len(self.key), dtype=np.bool_)
        if self.device is not None:
            usable |= self.device.window
        if self.host is not None and not device_only:
            usable |= self.host.window
        return usable

    def path(self) -> tuple[Node, ...]:
        """This node and its ancestors without the root, from the top down."""
        nodes: list[Node] = []
        node: Node | None = self
        while node is not None and node.parent is not None:
            nodes.append(node)
            node = node.parent
        return tuple(reversed(nodes))

    def __repr__(self) -> str:
        device = "-" if self.device is None else str(len(self.device))
        host = "-" if self.host is None else str(len(self.host))
        return (
            f"Node({self.id}, {len(self.key)} pages, device {device}, host {host}, lock_ref {self.lock_ref}, "
            f"host_ref {self.host_ref})"
        )
