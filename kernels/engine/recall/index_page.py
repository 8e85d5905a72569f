"""One page of index-K in the pool's number format.

Owns: the stored bytes of 64 rows of 128 keys, and what a reader makes of them. Does not own: the context codes
(`codes.py`), staleness. Floor 2c. Source: page layout of SGLang's index pool: all keys first, then the float32 scales
(fp8); rows of bf16.

Keys are +-1. So a row that was written whole is known by its 128 signs, kept next to the bytes as four 32-bit codes.
`page_of_bytes` reads any bytes: rows that are all signs, rows that are all zeros (never written), and odd ones, where a
tear went through a row. A reader rounds to a grid of 2^-10, which only matters for odd rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from kernels.arrays.bfloat16 import decode_bf16, encode_bf16
from kernels.arrays.float8 import BLOCK, decode_fp8, encode_fp8
from kernels.arrays.grid import to_grid
from kernels.engine.recall.codes import Codes, signs_of
from kernels.engine.recall.shape import CODE_BITS, ENTRY_ROWS, INDEX_HEADS, KEY_DIM

IndexDtype = Literal["bf16", "fp8"]
Rows = NDArray[np.int64]

KEY_GRID_BITS = 10
_SCALE_BYTES = 4


@dataclass(frozen=True, slots=True, eq=False)
class Irregular:
    """Rows of a page that are not all signs. blank_rows: all zeros. odd_keys: [len(odd_rows), 128] float32."""

    blank_rows: Rows
    odd_rows: Rows
    odd_keys: NDArray[np.float32]


@dataclass(frozen=True, slots=True, eq=False)
class IndexPage:
    """stored: [page_bytes] uint8. codes: [64, 4] uint32, the signs of each row; 0 in irregular rows."""

    stored: NDArray[np.uint8]
    codes: Codes
    irregular: Irregular | None


class IndexFormat:
    """How index-K is stored: encoding of sign rows, decoding of any bytes."""

    def __init__(self, dtype: IndexDtype) -> None:
        self.dtype = dtype
        every_byte = signs_of(np.arange(256, dtype=np.uint8))
        if dtype == "bf16":
            self._table = encode_bf16(every_byte)
            self._scale = np.zeros(0, dtype=np.uint8)
        else:
            padded = np.tile(every_byte, (1, BLOCK // 8))
            codes, scales = encode_fp8(padded)
            self._table = np.ascontiguousarray(codes[:, :8])
            self._scale = scales[0].view(np.uint8)
        self.row_bytes = KEY_DIM // 8 * self._table.shape[1]
        self.page_bytes = ENTRY_ROWS * (self.row_bytes + len(self._scale))

    def encode(self, codes: Codes) -> NDArray[np.uint8]:
        """The bytes of whole pages of sign rows.

        Args: codes: [page_count, 64, 4] uint32. Returns: [page_count, page_bytes] uint8.
        """
        page_count = len(codes)
        keys = self._table[np.ascontiguousarray(codes).view(np.uint8)].reshape(page_count, -1)
        if len(self._scale) == 0:
            return keys
        scales = np.broadcast_to(np.tile(self._scale, ENTRY_ROWS), (page_count, ENTRY_ROWS * _SCALE_BYTES))
        return np.concatenate([keys, scales], axis=1)

    def decode(self, stored: NDArray[np.uint8]) -> NDArray[np.float32]:
        """What a reader makes of a page's bytes. Args: [page_bytes] uint8. Returns: [64, 128] float32 on the grid."""
        assert stored.shape == (self.page_bytes,), stored.shape
        keys = stored[: ENTRY_ROWS * self.row_bytes].reshape(ENTRY_ROWS, self.row_bytes)
        if self.dtype == "bf16":
            values = decode_bf16(keys)
        else:
            scales = stored[ENTRY_ROWS * self.row_bytes :].copy().view(np.float32).reshape(ENTRY_ROWS, 1)
            values = decode_fp8(keys, scales)
        return to_grid(values, KEY_GRID_BITS)

    def clear_rows(self, stored: NDArray[np.uint8], begin: int) -> None:
        """Effect: zeroes the bytes of rows [begin, 64) of a page, keys and scales."""
        keys_end = ENTRY_ROWS * self.row_bytes
        stored[begin * self.row_bytes : keys_end] = 0
        stored[keys_end + begin * len(self._scale) :] = 0

    def page_of_bytes(self, stored: NDArray[np.uint8]) -> IndexPage:
        """Read a page from any bytes."""
        keys = self.decode(stored)
        is_signs = (np.abs(keys) == 1).all(axis=1)
        is_blank = ~keys.any(axis=1)
        packed = np.packbits(keys > 0, axis=1, bitorder="little").view(np.uint32)
        codes = packed.reshape(ENTRY_ROWS, INDEX_HEADS) * is_signs[:, None].astype(np.uint32)
        if is_signs.all():
            return IndexPage(stored, codes, None)
        odd_rows = np.flatnonzero(~is_signs & ~is_blank)
        return IndexPage(stored, codes, Irregular(np.flatnonzero(is_blank), odd_rows, keys[odd_rows]))

    def pages_of_codes(self, codes: Codes, row_counts: list[int]) -> list[IndexPage]:
        """Pages whose rows are all signs, up to each page's row count.

        Args: codes: [page_count, 64, 4] uint32. row_counts: [page_count].
        """
        assert codes.shape[1:] == (ENTRY_ROWS, INDEX_HEADS), codes.shape
        assert codes.dtype.itemsize * 8 == CODE_BITS, codes.dtype
        pages = []
        for stored, page_codes, row_count in zip(self.encode(codes), codes, row_counts, strict=True):
            # Copies, so that one page does not keep the arrays of all pages of its batch alive.
            own_bytes, own_codes = stored.copy(), page_codes.copy()
            irregular = None
            if row_count < ENTRY_ROWS:
                self.clear_rows(own_bytes, row_count)
                own_codes[row_count:] = 0
                none = np.zeros(0, dtype=np.int64)
                no_keys = np.zeros((0, KEY_DIM), dtype=np.float32)
                irregular = Irregular(np.arange(row_count, ENTRY_ROWS), none, no_keys)
            pages.append(IndexPage(own_bytes, own_codes, irregular))
        return pages
