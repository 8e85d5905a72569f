"""What a forward computes from the bytes that its reads saw: the first token, and what it wrote into new pages.

Owns: the queries of one request in one forward, and the reply of a decode request. Does not own: the model (recall),
the bytes (pages_read), times. Floor 2c.

A forward asks the model two kinds of questions. For each anchored fact among the new tokens it recalls the anchor: the
sum of the layers' outputs *so far* is what the next layer knows, so a layer behind a wrong sum writes the fact under a
wrong hash. And at the end of the prompt it recalls the reply's first token. Both are evaluated when the forward has
ended, from what its reads saw at their times.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from kernels.engine.batch import Batch, Extend
from kernels.engine.forward import Readings
from kernels.engine.ledger import ContentLedger
from kernels.engine.numerics import Numerics, rounded
from kernels.engine.pages_read import Context, PagesRead, Seen, Seens, window_begin
from kernels.engine.prompt import Prompt, PromptReader
from kernels.engine.recall.content import PageContent
from kernels.engine.recall.contexts import Scanner, anchored_contexts
from kernels.engine.recall.generate import Reply, ReplyStart, anchor_context, generate, reply_state, state_context
from kernels.engine.recall.grammar import Fact
from kernels.engine.recall.hashing import Words
from kernels.engine.recall.indexed import indexed_output
from kernels.engine.recall.memo import Memo
from kernels.engine.recall.model import RecallModel
from kernels.engine.recall.queries import queries_at
from kernels.engine.recall.reading import Reading
from kernels.engine.recall.recall import logits_of, recall_scores, recall_tokens
from kernels.engine.recall.scores import TokenScores
from kernels.engine.recall.shape import EMBEDDING_DIM, PAGE_TOKENS
from kernels.engine.request import Candidate, FinishReason, Scores
from kernels.hicache.geometry import WINDOW_POOLS, Geometry, PoolKind
from kernels.substrate.contract import Versions


@dataclass(frozen=True, slots=True, eq=False)
class ReplyMemos:
    """Results computed from verified-fresh pages, by content; arms and runs of one process may share them."""

    first_tokens: Memo[int]
    states: Memo[int]
    anchors: Memo[tuple[int, ...]]
    replies: Memo[Reply]


@dataclass(frozen=True, slots=True)
class DecodedReply:
    """pieces: each token's bytes, without the one that ended the reply. reason: `stop`, or `length` at the limit.

    scores: one for each piece, or nothing where nobody asked.
    """

    pieces: tuple[bytes, ...]
    reason: FinishReason
    poisoned_reads: int
    scores: tuple[Scores, ...] = ()


@dataclass(frozen=True, slots=True)
class DecodeStart:
    """What a reply is written from, beside its prompt's pages.

    first_token, first_scores: as the prefill engine recalled them. batch: requests that decode together, this one
    among them. best_count: as in `GenerateRequest`.
    """

    first_token: int
    first_scores: TokenScores | None
    max_new_tokens: int
    best_count: int | None
    batch: int


class Readout:
    """Evaluates the model for the engines."""

    def __init__(
        self,
        geometry: Geometry,
        ledger: ContentLedger,
        reader: PromptReader,
        model: RecallModel,
        memos: ReplyMemos,
        numerics: Numerics = "exact",
    ) -> None:
        self._geometry = geometry
        self._ledger = ledger
        self._reader = reader
        self._model = model
        self._memos = memos
        self._numerics = numerics
        self._pages = PagesRead(geometry, ledger)
        self._scanner = Scanner()
        self._indexed = geometry.layers_with("index_k")

    def prefill(self, batch: Batch, index: int, readings: Sequence[Readings]) -> int | None:
        """Evaluate one extend of a batch, on what all ranks saw; a layer counts as it was on the worst rank.

        Effect: new pages that were written wrongly get their true contents in the ledger; evidence is counted.
        Returns: the reply's first token, or None for a chunk that does not end its prompt.
        """
        extend = batch.extends[index]
        stale = self._stale(batch, index, readings)
        wanted = readings[0].wanted[batch.context_spans[index]]
        contents = self._ledger.contents(np.concatenate((wanted, extend.versions)))
        self._write_facts(extend, contents, stale)
        if not extend.is_last:
            return None
        position = len(extend.job.prompt.tokens)
        context = Context(contents, window_begin(position), stale)
        extend.job.evidence.poisoned_reads += context.poisoned_reads
        best_count = extend.job.request.best_count
        if best_count is not None:
            extend.job.first_scores = self._first_scores(extend.job.prompt, context, position, best_count)
        return self._first_token(extend.job.prompt, context, position)

    def reply(self, prompt: Prompt, begun: DecodeStart, versions: Versions) -> DecodedReply:
        """Write the reply that follows the hand-off.

        Args: versions: [n] int64, what the first step read of the prompt's pages; all layers read the same.
        """
        position = len(prompt.tokens)
        context = Context(self._ledger.contents(versions), window_begin(position), {})
        reading = self._pages.reading(context)
        start = ReplyStart(self._state(prompt, reading, position), position, prompt.carry)
        limit = begun.max_new_tokens
        reply = generate(
            self._model, self._scanner, reading, start, begun.first_token, limit, self._memos.replies, begun.best_count
        )
        tokens = reply.tokens[:-1] if reply.is_stopped else reply.tokens
        scores = () if begun.first_scores is None else (begun.first_scores, *reply.scores)[: len(tokens)]
        is_whole = reply.is_stopped
        if self._numerics == "bf16":
            moved = rounded(tokens, scores, state=start.state, batch=begun.batch)
            tokens, scores = moved.tokens[:limit], moved.scores[:limit]
            is_whole = is_whole and len(moved.tokens) <= limit
        pieces = tuple(self._reader.text_of(token) for token in tokens)
        reason: FinishReason = "stop" if is_whole else "length"
        return DecodedReply(pieces, reason, context.poisoned_reads, tuple(map(self._told, scores)))

    def _told(self, scores: TokenScores) -> Scores:
        """With each token's bytes."""
        best = tuple(Candidate(token, self._reader.text_of(token), logprob) for token, logprob in scores.best)
        return Scores(Candidate(scores.token, self._reader.text_of(scores.token), scores.logprob), best)

    def _stale(self, batch: Batch, index: int, readings: Sequence[Readings]) -> Seens:
        """Views in which this extend saw something stale; the worst rank's where several did."""
        extend = batch.extends[index]
        worst: dict[tuple[PoolKind, int], tuple[int, Seen]] = {}
        for (kind, layer), view in (item for rank in readings for item in rank.stale.items()):
            is_window = kind in WINDOW_POOLS
            span = batch.window_spans[index] if is_window else batch.context_spans[index]
            count = int(view.stale[0, span].sum())
            if count == 0:
                continue
            extend.job.evidence.note(kind, layer, view, span)
            if count > worst.get((kind, layer), (0, None))[0]:
                first_page = len(extend.context_pages) - 1 if is_window else 0
                worst[kind, layer] = (count, Seen(view, span, first_page))
        return {place: seen for place, (_, seen) in worst.items()}

    def _first_token(self, prompt: Prompt, context: Context, position: int) -> int:
        reading = self._pages.reading(context)
        key = (reading.identity, prompt.reference, position)
        known = self._memos.first_tokens.get(key) if reading.identity is not None else None
        if known is not None:
            return known
        query = queries_at(state_context(self._state(prompt, reading, position)), position)
        token = int(recall_tokens(self._model, reading, query)[0])
        if reading.identity is not None:
            self._memos.first_tokens.put(key, token)
        return token

    def _first_scores(self, prompt: Prompt, context: Context, position: int, best_count: int) -> TokenScores:
        """The scores of that token; nothing is remembered, because few ask."""
        reading = self._pages.reading(context)
        query = queries_at(state_context(self._state(prompt, reading, position)), position)
        return recall_scores(self._model, reading, query, best_count)[0]

    def _state(self, prompt: Prompt, reading: Reading, position: int) -> int:
        """The state in front of the reply: recalls the reference's anchor, where it has one."""
        key = (reading.identity, prompt.reference, position)
        state = self._memos.states.get(key) if reading.identity is not None else None
        if state is None:
            state = reply_state(self._model, reading, prompt.reference, position)
            if reading.identity is not None:
                self._memos.states.put(key, state)
        return state

    def _write_facts(self, extend: Extend, contents: list[PageContent], stale: Seens) -> None:
        """Correct the new pages where a layer did not know the right anchor of a fact that it wrote.

        Effect: `contents` and the ledger get the pages as they were written.
        """
        written: dict[tuple[int, int], Words] = {}
        for fact in extend.job.prompt.facts:
            if fact.name.anchor is None or not (extend.begin < fact.end and fact.begin < extend.end):
                continue
            known = self._known_anchors(fact, contents, stale)
            wrong = {layer: token for layer, token in known.items() if token != fact.recalled}
            if wrong:
                self._rewrite(extend, contents, fact, wrong, written)

    def _known_anchors(self, fact: Fact, contents: Sequence[PageContent], stale: Seens) -> dict[int, int]:
        """What each layer, by its absolute id, knows of a fact's anchor when it writes the fact.

        A layer knows the sum of all indexed layers in front of it; those in front of the first indexed layer know what
        the token itself says, which is right.
        """
        position = fact.begin
        page_count = -(-position // PAGE_TOKENS)
        context = Context(contents[:page_count], window_begin(position), stale)
        reading = self._pages.reading(context)
        key = (reading.identity, fact.name.anchor, position)
        tokens = self._memos.anchors.get(key) if reading.identity is not None else None
        if tokens is None:
            tokens = running_tokens(self._model, reading, anchor_context(fact.name), position)
            if reading.identity is not None:
                self._memos.anchors.put(key, tokens)
        known: dict[int, int] = {}
        for layer in range(self._geometry.layer_count):
            in_front = sum(indexed < layer for indexed in self._indexed)
            if in_front:
                known[layer] = tokens[in_front - 1]
        return known

    def _rewrite(
        self,
        extend: Extend,
        contents: list[PageContent],
        fact: Fact,
        wrong: Mapping[int, int],
        written: dict[tuple[int, int], Words],
    ) -> None:
        """Give the new pages of a fact's body other rows in the layers that had the wrong anchor.

        Args: written: (page, layer) -> hashes so far, because a page may hold several such facts.
        """
        prompt = extend.job.prompt
        body = prompt.tokens[fact.begin : fact.end]
        hashes = {token: anchored_contexts(fact, body, token) for token in set(wrong.values())}
        first = max(fact.begin, extend.begin) // PAGE_TOKENS
        last = (min(fact.end, extend.end) - 1) // PAGE_TOKENS
        for page in range(first, last + 1):
            begin, end = page * PAGE_TOKENS, min((page + 1) * PAGE_TOKENS, extend.end)
            clean = prompt.contexts[begin:end]
            by_layer = {
                layer: _spliced(written.get((page, layer), clean), begin, fact, hashes[token])
                for layer, token in wrong.items()
            }
            written |= {(page, layer): hashes_of_page for layer, hashes_of_page in by_layer.items()}
            content = self._ledger.builder.with_variants(contents[page], prompt.tokens[begin:end], by_layer)
            contents[page] = content
            self._ledger.replace(int(extend.versions[page - extend.begin // PAGE_TOKENS]), content)


def running_tokens(model: RecallModel, reading: Reading, contexts: Words, position: int) -> tuple[int, ...]:
    """What the sum of the first 1, 2, 3, ... indexed layers would say. Returns: one token for each indexed layer."""
    queries = queries_at(contexts, position)
    if len(reading.indexed) == 1:
        # Layers that all say the same agree with any sum of them.
        token = int(logits_of(model, indexed_output(model, reading.indexed[0], queries).values)[0].argmax())
        return (token,) * reading.indexed_layer_count
    outputs = np.zeros((reading.indexed_layer_count, EMBEDDING_DIM), dtype=np.float32)
    for group in reading.indexed:
        outputs[list(group.layers)] = indexed_output(model, group, queries).values[0]
    tokens: list[int] = logits_of(model, outputs.cumsum(axis=0, dtype=np.float32)).argmax(axis=1).tolist()
    return tuple(tokens)


def _spliced(contexts: Words, begin: int, fact: Fact, hashes: Words) -> Words:
    """A page's hashes with those of a fact's body in their places. Args: begin: position of the page's first token."""
    spliced = contexts.copy()
    low, high = max(fact.begin, begin), min(fact.end, begin + len(contexts))
    spliced[low - begin : high - begin] = hashes[low - fact.begin : high - fact.begin]
    return spliced
