"""Layouts and I/O paths: which combinations exist, and how a copy is cut into calls.

Owns: the rules of combination. Does not own: the cost of either path (substrate). Floor 2a.
Source: SGLang 0.5.10 server arguments (which combinations are changed, and how), ours (saying so).

`kernel` gathers pages with one launch per pool and layer; `direct` makes one copy call per run of adjacent pages,
which the host pays for. Page-first host memory keeps a page's layers together, so the pages of one layer are never
adjacent there: `direct` then makes one call per page.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from kernels.errors import ConfigError
from kernels.substrate.contract import PageIds

Layout = Literal["layer_first", "page_first", "page_first_direct"]
Io = Literal["kernel", "direct"]


@dataclass(frozen=True, slots=True)
class TransferPath:
    """A combination that exists. `notes`: one sentence for each setting that had to be changed to get there."""

    layout: Layout
    io: Io
    notes: tuple[str, ...] = ()

    def walk(self, source: PageIds, target: PageIds) -> tuple[PageIds, PageIds]:
        """The order in which a copy walks [n] source and [n] target pages.

        A run is ascending page ids, so walking page-first memory from the highest target page down merges nothing.
        """
        assert len(source) == len(target), (len(source), len(target))
        if self.layout == "page_first_direct":
            order = np.argsort(-target)
            return source[order], target[order]
        return source, target


def transfer_path(layout: str, io: str) -> TransferPath:
    """The path for a layout and an I/O setting; SGLang's substitutions are made, and told in `notes`.

    Raises: ConfigError for an unknown name.
    """
    known_layout: Layout | None = next((name for name in get_args(Layout) if name == layout), None)
    if known_layout is None:
        raise ConfigError(f"unknown host layout '{layout}'", key="layout", value=layout, allowed=get_args(Layout))
    known_io: Io | None = next((name for name in get_args(Io) if name == io), None)
    if known_io is None:
        raise ConfigError(f"unknown I/O path '{io}'", key="io", value=io, allowed=get_args(Io))
    if known_layout == "page_first_direct" and known_io == "kernel":
        note = "layout page_first_direct has no gather kernel: io is direct instead of kernel"
        return TransferPath("page_first_direct", "direct", (note,))
    if known_layout == "page_first" and known_io == "direct":
        note = "io direct cannot walk layout page_first: layout is page_first_direct instead"
        return TransferPath("page_first_direct", "direct", (note,))
    return TransferPath(known_layout, known_io)
