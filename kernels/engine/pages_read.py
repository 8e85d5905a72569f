"""From what the machine's reads saw to what the model gets: versions become page contents, layer by layer.

Owns: contents of fresh, stale and torn pages of one request, and the fast path where everything is as wanted.
Does not own: the evaluation (recall), evidence. Floor 2c.

A layer's rows of a page are those that *that layer* wrote (`PageContent.for_layer`), so a page that an earlier, misled
forward wrote differs between layers although every layer reads the version that it should.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from kernels.engine.ledger import ContentLedger
from kernels.engine.recall.content import PageContent, PageRows
from kernels.engine.recall.reading import (
    IndexedGroup,
    IndexedPages,
    Reading,
    SummaryGroup,
    SummaryPages,
    identity_of,
    read_index_pages,
    read_summary_pages,
    read_token_pages,
    reading_of,
)
from kernels.engine.recall.shape import PAGE_TOKENS, WINDOW_TOKENS
from kernels.engine.recall.token_page import TokenPage
from kernels.engine.recall.torn import torn_index_page, torn_summary_page, torn_token_page
from kernels.hicache.geometry import Geometry, PoolKind
from kernels.substrate.contract import PageView

Part = TypeVar("Part")


@dataclass(frozen=True, slots=True, eq=False)
class Seen:
    """A view that saw something stale: its columns `span` are the request's pages from `first_page` on."""

    view: PageView
    span: slice
    first_page: int


Seens = Mapping[tuple[PoolKind, int], Seen]
"""By pool and absolute layer."""


@dataclass(frozen=True, slots=True, eq=False)
class Context:
    """One request's pages as they should be: contents of all pages that its queries may see, from position 0 on.

    window_begin: position of the first page that the window may reach. stale: what was seen instead, where it was.
    """

    contents: Sequence[PageContent]
    window_begin: int
    stale: Seens

    @property
    def has_variants(self) -> bool:
        return any(content.variants for content in self.contents)

    @property
    def poisoned_reads(self) -> int:
        """Pages, counted per layer, whose rows a misled forward wrote."""
        return sum(len(content.variants) for content in self.contents)


def window_begin(position: int) -> int:
    """Where the first page begins that the window in front of `position` reaches."""
    return max(0, position - WINDOW_TOKENS) // PAGE_TOKENS * PAGE_TOKENS


class PagesRead:
    """Makes readings for the recall model."""

    def __init__(self, geometry: Geometry, ledger: ContentLedger) -> None:
        self._ledger = ledger
        self._indexed = geometry.layers_with("index_k")
        self._summaries = geometry.layers_with("c128")

    def reading(self, context: Context) -> Reading:
        """What all layers read. It has an identity, for memoising, only where nothing was stale."""
        if not context.stale and not context.has_variants:
            return self._uniform(context)
        indexed = [self._indexed_pages(context, layer) for layer in self._indexed]
        summaries = [self._summary_pages(context, layer) for layer in self._summaries]
        return reading_of(indexed, summaries, None if context.stale else identity_of(context.contents))

    def _uniform(self, context: Context) -> Reading:
        """Every layer reads the same rows: one group, without comparing layers."""
        rows = [content.clean for content in context.contents]
        tokens = [row.tokens for row in rows]
        window = read_token_pages(tokens[context.window_begin // PAGE_TOKENS :], begin=context.window_begin)
        return Reading(
            indexed=(
                IndexedGroup(
                    layers=tuple(range(len(self._indexed))),
                    index_k=read_index_pages([row.index_k for row in rows]),
                    c4=read_token_pages(tokens, begin=0),
                    window=window,
                ),
            ),
            summaries=(
                SummaryGroup(
                    layers=tuple(range(len(self._summaries))),
                    c128=read_summary_pages([row.summary for row in rows]),
                    window=window,
                ),
            ),
            identity=identity_of(context.contents),
        )

    def _indexed_pages(self, context: Context, layer: int) -> IndexedPages:
        index_format = self._ledger.builder.index_format
        return IndexedPages(
            index_k=self._pages(
                context, "index_k", layer, lambda rows: rows.index_k,
                lambda head, tail, tear: torn_index_page(index_format, head, tail, tear),
            ),
            c4=self._pages(context, "c4", layer, lambda rows: rows.tokens, torn_token_page),
            window=self._window(context, layer),
            window_begin=context.window_begin,
        )  # fmt: skip

    def _summary_pages(self, context: Context, layer: int) -> SummaryPages:
        return SummaryPages(
            c128=self._pages(context, "c128", layer, lambda rows: rows.summary, torn_summary_page),
            window=self._window(context, layer),
            window_begin=context.window_begin,
        )

    def _window(self, context: Context, layer: int) -> list[TokenPage]:
        pages = self._pages(context, "swa", layer, lambda rows: rows.tokens, torn_token_page)
        return pages[context.window_begin // PAGE_TOKENS :]

    def _pages(
        self,
        context: Context,
        kind: PoolKind,
        layer: int,
        part: Callable[[PageRows], Part],
        torn: Callable[[Part, Part, float], Part],
    ) -> list[Part]:
        """One pool's pages as one layer read them."""
        pages = [part(content.for_layer(layer)) for content in context.contents]
        seen = context.stale.get((kind, layer))
        if seen is not None:
            view = seen.view
            for at in np.flatnonzero(view.stale[0, seen.span][: len(pages) - seen.first_page]).tolist():
                column = seen.span.start + at
                head = part(self._ledger.content(int(view.head[0, column])).for_layer(layer))
                tail = part(self._ledger.content(int(view.tail[0, column])).for_layer(layer))
                tear = float(view.tear[0, column])
                pages[seen.first_page + at] = head if tear == 1.0 else torn(head, tail, tear)
        return pages
