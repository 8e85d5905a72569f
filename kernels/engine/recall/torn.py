"""Pages that were read while a copy was landing: old bytes and new ones in one page.

Owns: mixing the stored bytes of two contents, pool by pool. Does not own: where the tear is; the substrate says so.
Floor 2c.

A tear is a fraction of the page from its start: bytes before it are the `head`'s, the rest the `tail`'s. It may fall
into a row, or into a number. In an fp8 index page all scales lie at the end: a torn page has the scales of its tail.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kernels.engine.recall.content import SummaryPage
from kernels.engine.recall.index_page import IndexFormat, IndexPage
from kernels.engine.recall.token_page import TokenPage, token_page_of_bytes


def torn_index_page(index_format: IndexFormat, head: IndexPage, tail: IndexPage, tear: float) -> IndexPage:
    """Args: tear: in [0, 1]; 1 is all head."""
    return index_format.page_of_bytes(_torn_bytes(head.stored, tail.stored, tear))


def torn_token_page(head: TokenPage, tail: TokenPage, tear: float) -> TokenPage:
    """A torn page of the c4 pool or of the window pool."""
    return token_page_of_bytes(_torn_bytes(head.stored, tail.stored, tear))


def torn_summary_page(head: SummaryPage, tail: SummaryPage, tear: float) -> SummaryPage:
    """A torn page of the c128 pool."""
    mixed = _torn_bytes(head.ravel().view(np.uint8), tail.ravel().view(np.uint8), tear)
    return mixed.view(np.int8).reshape(head.shape)


def _torn_bytes(head: NDArray[np.uint8], tail: NDArray[np.uint8], tear: float) -> NDArray[np.uint8]:
    assert head.shape == tail.shape, (head.shape, tail.shape)
    assert 0 <= tear <= 1, tear
    cut = int(tear * len(head))
    return np.concatenate([head[:cut], tail[cut:]])
