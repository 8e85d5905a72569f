"""One page of per-token rows: what the c4 latent pool and the sliding-window pool hold of 256 tokens.

Owns: the rows and their bytes. Does not own: index keys (`index_page.py`), summaries. Floor 2c. Source: ours.

A row is 10 bytes: the 64-bit signature of the token's context hash and the 16-bit token id. The c4 pool reads them
as 64 entries of four rows, the window pool as 256 rows; the bytes are the same.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kernels.engine.recall.codes import Signatures
from kernels.engine.recall.model import BLANK
from kernels.engine.recall.shape import PAGE_TOKENS

TokenNumbers = NDArray[np.uint16]


@dataclass(frozen=True, slots=True, eq=False)
class TokenPage:
    """signatures: [256] uint64. numbers: [256] uint16, token ids; BLANK where nothing was written."""

    signatures: Signatures
    numbers: TokenNumbers

    @property
    def stored(self) -> NDArray[np.uint8]:
        """[2560] uint8, the page's bytes; a blank row is all zeros."""
        rows = np.zeros(PAGE_TOKENS, dtype=_row_dtype())
        rows["signature"] = self.signatures
        rows["number"] = np.where(self.numbers == BLANK, 0, self.numbers)
        return rows.view(np.uint8)


def token_page_of_bytes(stored: NDArray[np.uint8]) -> TokenPage:
    """Read a page from any bytes: a row of zeros was never written."""
    rows = np.ascontiguousarray(stored).view(_row_dtype())
    signatures = rows["signature"].copy()
    numbers = rows["number"].copy()
    numbers[(signatures == 0) & (numbers == 0)] = BLANK
    return TokenPage(signatures, numbers)


def _row_dtype() -> np.dtype[np.void]:
    return np.dtype([("signature", "<u8"), ("number", "<u2")])
