"""The model's answers worked out the long way: every layer by itself, every page decoded from the bytes it was read as.

Owns: one evaluation without grouping, memo or shared pages. Does not own: expectations. Floor: tests. Source: ours.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kernels.engine.batch import Batch
from kernels.engine.forward import Readings
from kernels.engine.ledger import ContentLedger
from kernels.engine.pair import ServingPair
from kernels.engine.prompt import Prompt
from kernels.engine.recall.content import PageContent, PageRows
from kernels.engine.recall.generate import anchor_context, state_context
from kernels.engine.recall.grammar import Fact, start_of
from kernels.engine.recall.hashing import Words
from kernels.engine.recall.indexed import indexed_output
from kernels.engine.recall.model import RecallModel
from kernels.engine.recall.queries import queries_at
from kernels.engine.recall.reading import (
    IndexedGroup,
    SummaryGroup,
    read_index_pages,
    read_summary_pages,
    read_token_pages,
)
from kernels.engine.recall.summaries import summary_output
from kernels.engine.recall.token_page import token_page_of_bytes
from kernels.engine.shared import SharedModel
from kernels.engine.vocabulary import VOCABULARY_SIZE
from kernels.hicache.geometry import Geometry, PoolKind
from kernels.substrate.contract import PageView
from tests.engine.pair.stage import Stage

Bytes = NDArray[np.uint8]


@dataclass(frozen=True, slots=True, eq=False)
class Seen:
    """One extend after its forward. contents: its context's and its own pages', as they should have been read.

    context_span, window_span: its context, and the last page of it, in the columns of what was read.
    """

    prompt: Prompt
    contents: list[PageContent]
    context_span: slice
    window_span: slice
    readings: Readings
    first_token: int | None


def capture(stage: Stage) -> list[Seen]:
    """Have every evaluation of the pair's prefill written down. Effect: fills the list that it returns."""
    found: list[Seen] = []
    readout, ledger = stage.pair.prefill._readout, stage.pair.ledger
    evaluate = readout.prefill

    def prefill(batch: Batch, index: int, readings: Sequence[Readings]) -> int | None:
        token = evaluate(batch, index, readings)
        extend, span = batch.extends[index], batch.context_spans[index]
        versions = np.concatenate((readings[0].wanted[span], extend.versions))
        (reading,) = readings
        contents = ledger.contents(versions)
        found.append(Seen(extend.job.prompt, contents, span, batch.window_spans[index], reading, token))
        return token

    readout.prefill = prefill  # type: ignore[method-assign]
    return found


class Unshared:
    """Evaluates what one extend saw."""

    def __init__(self, shared: SharedModel, geometry: Geometry, pair: ServingPair, seen: Seen) -> None:
        self._model: RecallModel = shared.model(geometry)
        self._geometry = geometry
        self._ledger: ContentLedger = pair.ledger
        self._seen = seen

    def first_token(self) -> int:
        """The reply's first token."""
        prompt = self._seen.prompt
        position = len(prompt.tokens)
        assert prompt.reference is not None
        name = prompt.reference.name
        recalled = None if name.anchor is None else self._token(anchor_context(name), position)
        return self._token(state_context(start_of(name, recalled)), position)

    def known_anchors(self, fact: Fact) -> dict[int, int]:
        """By layer, what the sum of the indexed layers in front of it says of a fact's anchor; without the layers
        that have none in front."""
        contexts = anchor_context(fact.name)
        known: dict[int, int] = {}
        outputs: list[NDArray[np.float32]] = []
        for layer in range(self._geometry.layer_count):
            if outputs:
                known[layer] = self._best(outputs)
            if "index_k" in self._geometry.pools_of(layer):
                outputs.append(self._indexed(layer, contexts, fact.begin))
        return known

    def _token(self, contexts: Words, position: int) -> int:
        outputs = [self._indexed(layer, contexts, position) for layer in self._geometry.layers_with("index_k")]
        outputs += [self._summary(layer, contexts, position) for layer in self._geometry.layers_with("c128")]
        return self._best(outputs)

    def _best(self, outputs: list[NDArray[np.float32]]) -> int:
        total = np.zeros(outputs[0].shape, dtype=np.float32)
        for output in outputs:
            total += output
        logits = total @ self._model.embeddings[:VOCABULARY_SIZE].T
        return int(logits[0].argmax())

    def _indexed(self, layer: int, contexts: Words, position: int) -> NDArray[np.float32]:
        index_format = self._ledger.builder.index_format
        keys = [index_format.page_of_bytes(page) for page in self._pages("index_k", layer)]
        latents = read_token_pages([token_page_of_bytes(page) for page in self._pages("c4", layer)], begin=0)
        window = read_token_pages([token_page_of_bytes(page) for page in self._pages("swa", layer)], begin=0)
        group = IndexedGroup((layer,), read_index_pages(keys), latents, window)
        return indexed_output(self._model, group, queries_at(contexts, position)).values

    def _summary(self, layer: int, contexts: Words, position: int) -> NDArray[np.float32]:
        summaries = [page.view(np.int8).reshape(2, -1) for page in self._pages("c128", layer)]
        window = read_token_pages([token_page_of_bytes(page) for page in self._pages("swa", layer)], begin=0)
        group = SummaryGroup((layer,), read_summary_pages(summaries), window)
        return summary_output(self._model, group, queries_at(contexts, position))

    def _pages(self, kind: PoolKind, layer: int) -> list[Bytes]:
        """The bytes of all pages as this layer's kernel read them from this pool."""
        pages = [_bytes_of(content.for_layer(layer), kind) for content in self._seen.contents]
        view = self._seen.readings.stale.get((kind, layer))
        if view is not None:
            context = self._seen.context_span
            columns = self._seen.window_span if kind == "swa" else context
            # Of the window only the context's last page is read.
            first = context.stop - context.start - 1 if kind == "swa" else 0
            for place, column in enumerate(range(columns.start, columns.stop), first):
                pages[place] = self._read(view, column, kind, layer)
        return pages

    def _read(self, view: PageView, column: int, kind: PoolKind, layer: int) -> Bytes:
        """A page is in memory what its head is up to the tear, and its tail behind it."""
        head, tail = (
            _bytes_of(self._ledger.content(int(versions[0, column])).for_layer(layer), kind)
            for versions in (view.head, view.tail)
        )
        cut = int(float(view.tear[0, column]) * len(head))
        return np.concatenate([head[:cut], tail[cut:]])


def _bytes_of(rows: PageRows, kind: PoolKind) -> Bytes:
    if kind == "index_k":
        return rows.index_k.stored.copy()
    if kind == "c128":
        return rows.summary.ravel().view(np.uint8).copy()
    return rows.tokens.stored
