"""What one page holds: the rows of all pools for 256 tokens.

Owns: page contents and their building. Does not own: versions, where pages lie, what was read when. Floor 2c.

Content is immutable and shared by all layers that wrote the same. A layer that wrote something else (an anchored fact
under a wrongly recalled anchor) has its own rows, a *variant*.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from kernels.engine.recall.codes import bits_of, codes_of, signatures_of
from kernels.engine.recall.hashing import Words
from kernels.engine.recall.index_page import IndexDtype, IndexFormat, IndexPage
from kernels.engine.recall.model import BLANK, RecallModel
from kernels.engine.recall.shape import (
    EMBEDDING_DIM,
    ENTRY_ROWS,
    ENTRY_TOKENS,
    INDEX_HEADS,
    PAGE_TOKENS,
    SIGNATURE_BITS,
    SUMMARY_ROWS,
    SUMMARY_TOKENS,
)
from kernels.engine.recall.token_page import TokenPage
from kernels.engine.tokenizer import TokenIds

SummaryPage = NDArray[np.int8]
"""[2, 128]: of each 128 tokens, the mean signature signs (64) and the mean embedding (64), in units of 1/64."""


@dataclass(frozen=True, slots=True, eq=False)
class PageRows:
    """One layer's rows of one page. tokens: both the c4 pool's rows and the window pool's."""

    index_k: IndexPage
    tokens: TokenPage
    summary: SummaryPage


@dataclass(frozen=True, slots=True, eq=False)
class PageContent:
    """identity: digest of the tokens, their hashes in every layer and the number format: equal means same bytes.

    token_count: how many of the page's 256 tokens were written. variants: layer -> rows, where they are not `clean`.
    """

    identity: bytes
    token_count: int
    clean: PageRows
    variants: Mapping[int, PageRows] = field(default_factory=lambda: MappingProxyType({}))

    def for_layer(self, layer: int) -> PageRows:
        """The rows that `layer` wrote. Layers are numbered as whoever made the variants numbered them."""
        return self.variants.get(layer, self.clean) if self.variants else self.clean


class PageBuilder:
    """Builds page contents in one number format of index-K."""

    def __init__(self, model: RecallModel, dtype: IndexDtype) -> None:
        self.index_format = IndexFormat(dtype)
        self._embedding_signs = model.embeddings.astype(np.int8)
        self.unwritten = self._unwritten()

    def build(self, tokens: TokenIds, contexts: Words) -> list[PageContent]:
        """The pages of a run of tokens that begins at a page border.

        Args:
            tokens: [n] int32. contexts: [n] uint64.
        Returns: ceil(n / 256) pages; the last may be part of one.
        """
        assert tokens.shape == contexts.shape, (tokens.shape, contexts.shape)
        rows = self._rows(tokens, contexts)
        pages = []
        for index, page_rows in enumerate(rows):
            part = slice(index * PAGE_TOKENS, (index + 1) * PAGE_TOKENS)
            identity = self._identity(tokens[part], contexts[part])
            pages.append(PageContent(identity, len(tokens[part]), page_rows))
        return pages

    def with_variants(self, page: PageContent, tokens: TokenIds, contexts_by_layer: Mapping[int, Words]) -> PageContent:
        """The same page, with other rows in some layers.

        Args:
            tokens: [token_count] int32, the page's. contexts_by_layer: layer -> [token_count] uint64.
        """
        assert len(tokens) == page.token_count, (len(tokens), page.token_count)
        rows_by_hashes: dict[bytes, PageRows] = {}
        variants = dict(page.variants)
        digest = blake2b(page.identity, digest_size=16)
        for layer, contexts in sorted(contexts_by_layer.items()):
            hashes = contexts.tobytes()
            if hashes not in rows_by_hashes:
                (rows_by_hashes[hashes],) = self._rows(tokens, contexts)
            variants[layer] = rows_by_hashes[hashes]
            digest.update(layer.to_bytes(4, "little") + hashes)
        return PageContent(digest.digest(), page.token_count, page.clean, MappingProxyType(variants))

    def _rows(self, tokens: TokenIds, contexts: Words) -> list[PageRows]:
        count = len(tokens)
        page_count = -(-count // PAGE_TOKENS)
        codes = np.zeros(page_count * PAGE_TOKENS, dtype=np.uint32)
        codes[:count] = codes_of(contexts)
        signatures = np.zeros((page_count, PAGE_TOKENS), dtype=np.uint64)
        signatures.ravel()[:count] = signatures_of(contexts)
        numbers = np.full((page_count, PAGE_TOKENS), BLANK, dtype=np.uint16)
        numbers.ravel()[:count] = tokens
        row_counts = [min(PAGE_TOKENS, count - page * PAGE_TOKENS) // ENTRY_TOKENS for page in range(page_count)]
        index_pages = self.index_format.pages_of_codes(codes.reshape(page_count, ENTRY_ROWS, INDEX_HEADS), row_counts)
        summaries = self._summaries(signatures, numbers, count)
        return [
            PageRows(index_k, TokenPage(signatures[page].copy(), numbers[page].copy()), summaries[page].copy())
            for page, index_k in enumerate(index_pages)
        ]

    def _summaries(
        self, signatures: NDArray[np.uint64], numbers: NDArray[np.uint16], token_count: int
    ) -> NDArray[np.int8]:
        """[page_count, 2, 128] int8; zeros for the 128 tokens that are not complete."""
        complete = token_count // SUMMARY_TOKENS
        summaries = np.zeros((signatures.shape[0] * SUMMARY_ROWS, SIGNATURE_BITS + EMBEDDING_DIM), dtype=np.int8)
        written = complete * SUMMARY_TOKENS
        # A mean of 128 signs is a multiple of 2 / 128: ones minus 64 for bits, half the sum for signs.
        ones = bits_of(signatures.ravel()[:written]).reshape(complete, SUMMARY_TOKENS, SIGNATURE_BITS)
        summaries[:complete, :SIGNATURE_BITS] = ones.sum(axis=1, dtype=np.int16) - SUMMARY_TOKENS // 2
        signs = self._embedding_signs[numbers.ravel()[:written]].reshape(complete, SUMMARY_TOKENS, EMBEDDING_DIM)
        summaries[:complete, SIGNATURE_BITS:] = signs.sum(axis=1, dtype=np.int16) // 2
        return summaries.reshape(-1, SUMMARY_ROWS, SIGNATURE_BITS + EMBEDDING_DIM)

    def _identity(self, tokens: TokenIds, contexts: Words) -> bytes:
        digest = blake2b(self.index_format.dtype.encode(), digest_size=16)
        digest.update(tokens.tobytes())
        digest.update(contexts.tobytes())
        return digest.digest()

    def _unwritten(self) -> PageContent:
        """A page of a pool that nothing was ever written to: zeros."""
        index_k = self.index_format.page_of_bytes(np.zeros(self.index_format.page_bytes, dtype=np.uint8))
        tokens = TokenPage(np.zeros(PAGE_TOKENS, dtype=np.uint64), np.full(PAGE_TOKENS, BLANK, dtype=np.uint16))
        summary = np.zeros((SUMMARY_ROWS, SIGNATURE_BITS + EMBEDDING_DIM), dtype=np.int8)
        identity = blake2b(b"unwritten" + self.index_format.dtype.encode(), digest_size=16).digest()
        return PageContent(identity, 0, PageRows(index_k, tokens, summary))
