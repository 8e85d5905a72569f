"""What the layers of one forward read, laid out for evaluation.

Owns: laying pages end to end, and grouping layers that read the same. Does not own: how staleness came about; pages
arrive here as they were read. Floor 2c.

Layers that read the same page objects compute the same, so they are evaluated once. Nothing else is shared: the output
is counted once for every layer of the group, and a test compares with evaluating each layer by itself.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from kernels.engine.recall.codes import Codes, Signatures
from kernels.engine.recall.content import PageContent, SummaryPage
from kernels.engine.recall.index_page import IndexPage, Rows
from kernels.engine.recall.model import ABSENT, BLANK
from kernels.engine.recall.shape import (
    EMBEDDING_DIM,
    ENTRY_ROWS,
    INDEX_HEADS,
    KEY_DIM,
    PAGE_TOKENS,
    SIGNATURE_BITS,
    WINDOW_TOKENS,
    RecallShape,
)
from kernels.engine.recall.token_page import TokenNumbers, TokenPage

Pages = TypeVar("Pages")


@dataclass(frozen=True, slots=True, eq=False)
class IndexReading:
    """Index-K of n entries. codes: [4, n] uint32, one row of it per head. blank_rows, odd_rows: as in `Irregular`."""

    codes: Codes
    blank_rows: Rows
    odd_rows: Rows
    odd_keys: NDArray[np.float32]


@dataclass(frozen=True, slots=True, eq=False)
class TokenReading:
    """Token rows from position `begin` on. signatures: [n] uint64. numbers: [n] uint16."""

    begin: int
    signatures: Signatures
    numbers: TokenNumbers
    has_blanks: bool

    def window(self, position: int) -> tuple[Signatures, TokenNumbers]:
        """The 128 rows in front of `position`; places in front of the prompt are ABSENT."""
        begin = position - WINDOW_TOKENS
        missing = max(0, -begin)
        assert begin + missing >= self.begin, (begin, self.begin)
        part = slice(begin + missing - self.begin, position - self.begin)
        signatures, numbers = self.signatures[part], self.numbers[part]
        assert len(numbers) + missing == WINDOW_TOKENS, (position, self.begin, len(self.numbers))
        if missing:
            signatures = np.concatenate([np.zeros(missing, dtype=np.uint64), signatures])
            numbers = np.concatenate([np.full(missing, ABSENT, dtype=np.uint16), numbers])
        return signatures, numbers


@dataclass(frozen=True, slots=True, eq=False)
class SummaryReading:
    """c128 rows. signatures: [n, 64] float32, mean signs. embeddings: [n, 64] float32, mean embeddings."""

    signatures: NDArray[np.float32]
    embeddings: NDArray[np.float32]


@dataclass(frozen=True, slots=True, eq=False)
class IndexedPages:
    """What one indexed layer read, page by page.

    index_k, c4: all pages of the context, from position 0 on.
    window: pages that cover the 128 tokens in front of the queries, from position `window_begin` on; more do no harm.
    """

    index_k: Sequence[IndexPage]
    c4: Sequence[TokenPage]
    window: Sequence[TokenPage]
    window_begin: int


@dataclass(frozen=True, slots=True, eq=False)
class SummaryPages:
    """What one c128 layer read, page by page. Fields as in `IndexedPages`."""

    c128: Sequence[SummaryPage]
    window: Sequence[TokenPage]
    window_begin: int


@dataclass(frozen=True, slots=True, eq=False)
class IndexedGroup:
    """Indexed layers, by their place among the indexed layers, that read the same."""

    layers: tuple[int, ...]
    index_k: IndexReading
    c4: TokenReading
    window: TokenReading


@dataclass(frozen=True, slots=True, eq=False)
class SummaryGroup:
    """c128 layers, by their place among the c128 layers, that read the same."""

    layers: tuple[int, ...]
    c128: SummaryReading
    window: TokenReading


@dataclass(frozen=True, slots=True, eq=False)
class Reading:
    """What all layers of a forward read of one context.

    identity: names the bytes, for memoising; given only where every page was verified to be the wanted one.
    """

    indexed: tuple[IndexedGroup, ...]
    summaries: tuple[SummaryGroup, ...]
    identity: bytes | None = None

    @property
    def indexed_layer_count(self) -> int:
        return sum(len(group.layers) for group in self.indexed)


def reading_of(
    indexed: Sequence[IndexedPages], summaries: Sequence[SummaryPages], identity: bytes | None = None
) -> Reading:
    """Group the layers by the page objects they read. Args: one entry per layer, in order."""
    indexed_groups = [
        IndexedGroup(
            layers=layers,
            index_k=read_index_pages(pages.index_k),
            c4=read_token_pages(pages.c4, begin=0),
            window=read_token_pages(pages.window, begin=pages.window_begin),
        )
        for layers, pages in _grouped([(_key(pages.index_k, pages.c4, pages.window), pages) for pages in indexed])
    ]
    summary_groups = [
        SummaryGroup(
            layers=layers,
            c128=read_summary_pages(pages.c128),
            window=read_token_pages(pages.window, begin=pages.window_begin),
        )
        for layers, pages in _grouped([(_key(pages.c128, pages.window), pages) for pages in summaries])
    ]
    return Reading(tuple(indexed_groups), tuple(summary_groups), identity)


def fresh_reading(shape: RecallShape, pages: Sequence[PageContent]) -> Reading:
    """What every layer reads where all pages are as they were written, and all layers wrote the same.

    Args: pages: of the whole context, from position 0 on, without variants.
    """
    assert not any(page.variants for page in pages), "layers differ: give each its own pages"
    rows = [page.clean for page in pages]
    tokens = [page.tokens for page in rows]
    window_begin = max(0, len(pages) - 2)
    window = (tokens[window_begin:], window_begin * PAGE_TOKENS)
    indexed = IndexedPages([page.index_k for page in rows], tokens, *window)
    summary = SummaryPages([page.summary for page in rows], *window)
    return reading_of([indexed] * shape.indexed_layers, [summary] * shape.summary_layers, identity=identity_of(pages))


def identity_of(pages: Sequence[PageContent]) -> bytes:
    """Names a context by its content: equal for equal bytes."""
    return blake2b(b"".join(page.identity for page in pages), digest_size=16).digest()


def read_index_pages(pages: Sequence[IndexPage]) -> IndexReading:
    codes = np.concatenate([page.codes for page in pages]) if pages else np.zeros((0, INDEX_HEADS), dtype=np.uint32)
    irregular = [(index * ENTRY_ROWS, page.irregular) for index, page in enumerate(pages) if page.irregular]
    odd_keys = [rows.odd_keys for _, rows in irregular]
    return IndexReading(
        codes=np.ascontiguousarray(codes.T),
        blank_rows=_concatenated(rows.blank_rows + begin for begin, rows in irregular),
        odd_rows=_concatenated(rows.odd_rows + begin for begin, rows in irregular),
        odd_keys=np.concatenate(odd_keys) if odd_keys else np.zeros((0, KEY_DIM), dtype=np.float32),
    )


def read_token_pages(pages: Sequence[TokenPage], *, begin: int) -> TokenReading:
    """Args: begin: position of the first page's first token."""
    if not pages:
        return TokenReading(begin, np.zeros(0, dtype=np.uint64), np.zeros(0, dtype=np.uint16), has_blanks=False)
    numbers = np.concatenate([page.numbers for page in pages])
    signatures = np.concatenate([page.signatures for page in pages])
    return TokenReading(begin, signatures, numbers, has_blanks=bool((numbers == BLANK).any()))


def read_summary_pages(pages: Sequence[SummaryPage]) -> SummaryReading:
    if not pages:
        rows = np.zeros((0, SIGNATURE_BITS + EMBEDDING_DIM), dtype=np.float32)
    else:
        rows = np.concatenate(pages).astype(np.float32) * np.float32(1 / 64)
    return SummaryReading(
        np.ascontiguousarray(rows[:, :SIGNATURE_BITS]), np.ascontiguousarray(rows[:, SIGNATURE_BITS:])
    )


def _key(*parts: Sequence[object]) -> Hashable:
    """Equal for layers that read the same objects; the objects are alive, so their ids are theirs alone."""
    return tuple(tuple(map(id, part)) for part in parts)


def _grouped(keyed: Sequence[tuple[Hashable, Pages]]) -> Iterator[tuple[tuple[int, ...], Pages]]:
    """Layers with equal keys, and what the first of them read."""
    groups: dict[Hashable, list[int]] = {}
    for layer, (key, _) in enumerate(keyed):
        groups.setdefault(key, []).append(layer)
    for layers in groups.values():
        yield tuple(layers), keyed[layers[0]][1]


def _concatenated(parts: Iterable[Rows]) -> Rows:
    return np.concatenate([np.zeros(0, dtype=np.int64), *parts])
