"""Layers against the plain arithmetic of `arrays`: every score, weight and sum in full, one layer at a time."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from kernels.arrays.attention import attend, grid_softmax, keep_latest_best
from kernels.arrays.grid import to_grid
from kernels.arrays.scores import index_scores
from kernels.arrays.selection import top_k
from kernels.engine.recall.codes import codes_of, signatures_of, signs_of
from kernels.engine.recall.content import PageBuilder, PageRows
from kernels.engine.recall.index_page import IndexDtype, IndexFormat, IndexPage
from kernels.engine.recall.indexed import entry_scores, head_queries, indexed_output, sharp_attention
from kernels.engine.recall.model import RecallModel
from kernels.engine.recall.queries import Queries, queries_at, queries_behind
from kernels.engine.recall.reading import IndexedPages, Reading, SummaryPages, read_index_pages, reading_of
from kernels.engine.recall.recall import best_tokens, logits_of, recall, recall_tokens
from kernels.engine.recall.shape import PAGE_TOKENS, RecallShape
from kernels.engine.recall.summaries import summary_output
from kernels.engine.recall.token_page import TokenPage
from kernels.engine.recall.torn import torn_index_page, torn_token_page
from kernels.engine.vocabulary import VOCABULARY_SIZE
from tests.engine.recall_cases import Case, bench, first_query, layered_reading, random_case

SHAPE = RecallShape(indexed_layers=5, summary_layers=3, top_k=64)
BENCH = bench(SHAPE)
Floats = NDArray[np.float32]


def token_vectors(model: RecallModel, pages: list[TokenPage]) -> tuple[Floats, Floats]:
    """Keys and values of token rows as vectors: blank rows are zeros."""
    numbers = np.concatenate([page.numbers for page in pages])
    keys = signs_of(np.concatenate([page.signatures for page in pages]))
    keys[numbers == VOCABULARY_SIZE] = 0
    return keys, model.embeddings[numbers]


def window_vectors(model: RecallModel, tokens: list[TokenPage], queries: Queries, query: int) -> tuple[Floats, Floats]:
    """The window of one query, from position 0 on where the prompt is shorter."""
    keys, values = token_vectors(model, tokens)
    lag = int(queries.lags[query])
    keys = np.concatenate([keys[: queries.position], signs_of(queries.tail_signatures[:lag])])
    values = np.concatenate([values[: queries.position], model.embeddings[queries.tail_numbers[:lag]]])
    return keys[-128:], values[-128:]


def plain_indexed(
    model: RecallModel,
    index_format: IndexFormat,
    index_k: list[IndexPage],
    c4: list[TokenPage],
    window: list[TokenPage],
    queries: Queries,
) -> tuple[Floats, NDArray[np.int64]]:
    """One indexed layer, in full vectors."""
    count = queries.position // 4
    keys = np.concatenate([index_format.decode(page.stored) for page in index_k])[:count]
    ones = np.ones(4, dtype=np.float32)
    selected = top_k(index_scores(head_queries(codes_of(queries.contexts)), ones, keys), model.shape.top_k)
    c4_keys, c4_values = token_vectors(model, c4)
    outputs = []
    for query, signs in enumerate(signs_of(signatures_of(queries.contexts))):
        places = (selected[query][:, None] * 4 + np.arange(4)).ravel()
        near_keys, near_values = window_vectors(model, window, queries, query)
        all_keys = np.concatenate([c4_keys[places], near_keys])
        values = np.concatenate([c4_values[places], near_values])
        scores = np.float32(2) * (all_keys @ signs)[None]
        outputs.append(to_grid(attend(keep_latest_best(scores), values), 8))
    return np.concatenate(outputs), selected


def plain_summary(model: RecallModel, rows: list[PageRows], queries: Queries) -> Floats:
    """One c128 layer, in full vectors."""
    count = queries.position // 128
    summaries = np.concatenate([page.summary for page in rows])[:count].astype(np.float32) / np.float32(64)
    outputs = []
    for query, signs in enumerate(signs_of(signatures_of(queries.contexts))):
        near_keys, near_values = window_vectors(model, [page.tokens for page in rows], queries, query)
        keys = np.concatenate([near_keys, summaries[:, :64]])
        values = np.concatenate([near_values, summaries[:, 64:]])
        outputs.append(to_grid(attend((keys @ signs)[None] / np.float32(8), values, grid_bits=13), 8))
    return np.concatenate(outputs)


def mixed_layers(case: Case, builder: PageBuilder, seed: int) -> list[tuple[list[IndexPage], list[TokenPage]]]:
    """What five layers read: clean, clean, another session's, torn, and partly never written."""
    rows = [page.clean for page in case.pages]
    other = [page.clean for page in random_case(BENCH, builder.index_format.dtype, seed, 4, 3_000).pages]
    tears = np.random.default_rng(seed).random(len(rows))
    keys, tokens = [row.index_k for row in rows], [row.tokens for row in rows]
    foreign = [(other[i] if 1 <= i < len(other) else row).index_k for i, row in enumerate(rows)]
    torn_keys = [torn_index_page(builder.index_format, a, b, t) for a, b, t in zip(keys, foreign, tears, strict=True)]
    foreign_tokens = [(other[i] if 1 <= i < len(other) else row).tokens for i, row in enumerate(rows)]
    torn_tokens = [torn_token_page(a, b, t) for a, b, t in zip(tokens, foreign_tokens, tears, strict=True)]
    blank = builder.unwritten.clean
    half = [blank.index_k if i % 2 else key for i, key in enumerate(keys)]
    half = [torn_index_page(builder.index_format, blank.index_k, k, 0.501) if i == 4 else k for i, k in enumerate(half)]
    half_tokens = [blank.tokens if i % 3 == 1 else page for i, page in enumerate(tokens)]
    return [(keys, tokens), (keys, tokens), (foreign, tokens), (torn_keys, torn_tokens), (half, half_tokens)]


def reading_and_queries(dtype: IndexDtype, seed: int) -> tuple[Case, PageBuilder, Reading, Queries]:
    builder = PageBuilder(BENCH.model, dtype)
    case = random_case(BENCH, dtype, seed, 4, 2_500)
    layers = mixed_layers(case, builder, seed + 100)
    rows = [page.clean for page in case.pages]
    reading = layered_reading(BENCH, rows, [keys for keys, _ in layers], [tokens for _, tokens in layers])
    # The last query's signature has few ones, so that rows of zeros would seem near if they were taken for signs.
    many = np.arange(200_000, dtype=np.uint64)
    few_ones = many[np.bitwise_count(signatures_of(many)).argmin()]
    contexts = np.array([*case.prompt.contexts[[5, 700, 1301]], 1, 2, few_ones], dtype=np.uint64)
    tail = np.arange(100, 140, dtype=np.int32)
    lags = np.array([0, 3, 7, 40, 0, 12], dtype=np.int64)
    queries = queries_behind(contexts, case.position - 3, tail, np.arange(7, 47, dtype=np.uint64), lags)
    return case, builder, reading, queries


@pytest.mark.parametrize("dtype", ["bf16", "fp8"])
def test_scores_counted_on_codes_are_index_scores_of_the_bytes(dtype: IndexDtype) -> None:
    case, builder, _, queries = reading_and_queries(dtype, 1)
    for keys, _ in mixed_layers(case, builder, 101):
        count = case.position // 4
        decoded = np.concatenate([builder.index_format.decode(page.stored) for page in keys])[:count]
        codes = codes_of(queries.contexts)
        expected = index_scores(head_queries(codes), np.ones(4, dtype=np.float32), decoded)
        assert np.array_equal(entry_scores(read_index_pages(keys), codes, count), expected)


@pytest.mark.parametrize("dtype", ["bf16", "fp8"])
def test_grouped_evaluation_equals_every_layer_by_itself(dtype: IndexDtype) -> None:
    case, builder, reading, queries = reading_and_queries(dtype, 2)
    assert [group.layers for group in reading.indexed] == [(0, 1), (2,), (3,), (4,)]
    rows = [page.clean for page in case.pages]
    window = [row.tokens for row in rows]
    total = np.zeros((len(queries.contexts), 64), dtype=np.float32)
    layer_tokens = []
    for keys, tokens in mixed_layers(case, builder, 102):
        values, selected = plain_indexed(BENCH.model, builder.index_format, keys, tokens, window, queries)
        group = layered_reading(BENCH, rows, [keys], [tokens]).indexed[0]
        output = indexed_output(BENCH.model, group, queries)
        assert np.array_equal(output.selected, selected)
        assert np.array_equal(output.values, values)
        layer_tokens.append(logits_of(BENCH.model, values).argmax(axis=1))
        total += values
    for _ in range(SHAPE.summary_layers):
        total += plain_summary(BENCH.model, rows, queries)
    logits = logits_of(BENCH.model, total)
    result = recall(BENCH.model, reading, queries)
    assert np.array_equal(result.tokens, logits.argmax(axis=1))
    assert np.array_equal(result.tokens, recall_tokens(BENCH.model, reading, queries))
    assert np.array_equal(result.layer_tokens, np.array(layer_tokens).T)
    ordered = np.sort(logits, axis=1)
    assert np.array_equal(result.margins, ordered[:, -1] - ordered[:, -2])
    assert np.array_equal(result.votes, (np.array(layer_tokens) == result.tokens).sum(axis=0))


@pytest.mark.parametrize("position", [0, 1, 3, 4, 50, 127, 128, 300])
def test_short_contexts_see_what_there_is(position: int) -> None:
    case = random_case(BENCH, "bf16", 3, 1, 400)
    rows = [page.clean for page in case.pages]
    reading = layered_reading(BENCH, rows, [[row.index_k for row in rows]] * 5)
    # The window of a query near the prompt's start needs the first page, which `layered_reading` leaves out.
    reading = Reading(
        tuple(type(g)(g.layers, g.index_k, g.c4, g.c4) for g in reading.indexed),
        tuple(type(g)(g.layers, g.c128, reading.indexed[0].c4) for g in reading.summaries),
    )
    queries = queries_at(case.prompt.contexts[position : position + 1], position)
    output = indexed_output(BENCH.model, reading.indexed[0], queries).values
    if position == 0:
        assert not output.any()
        assert not summary_output(BENCH.model, reading.summaries[0], queries).any()
        return
    tokens = [row.tokens for row in rows]
    index_format = PageBuilder(BENCH.model, "bf16").index_format
    keys = [row.index_k for row in rows]
    assert np.array_equal(output, plain_indexed(BENCH.model, index_format, keys, tokens, tokens, queries)[0])
    assert np.array_equal(
        summary_output(BENCH.model, reading.summaries[0], queries), plain_summary(BENCH.model, rows, queries)
    )


def test_sharp_attention_is_the_softmax_of_the_products() -> None:
    rng = np.random.default_rng(4)
    distances = rng.integers(10, 40, (6, 300)).astype(np.uint8)
    distances[1] = 20
    distances[2, 7] = 0
    rows, columns, weights = sharp_attention(BENCH.model, distances)
    dense = np.zeros(distances.shape, dtype=np.float32)
    dense[rows, columns] = weights
    products = (64 - 2 * distances.astype(np.int64)).astype(np.float32)
    assert np.array_equal(dense, grid_softmax(keep_latest_best(2 * products)))


@pytest.mark.parametrize("pool", ["index_k", "c4", "window", "c128"])
def test_layers_share_an_evaluation_only_if_they_read_the_same_of_every_pool(pool: str) -> None:
    rows = [page.clean for page in random_case(BENCH, "bf16", 7, 1, 600).pages]
    keys, tokens, sums = ([getattr(row, name) for row in rows] for name in ("index_k", "tokens", "summary"))
    blank = PageBuilder(BENCH.model, "bf16").unwritten.clean
    other = {"index_k": keys, "c4": tokens, "window": tokens, "c128": sums}
    other[pool] = [{"index_k": blank.index_k, "c128": blank.summary}.get(pool, blank.tokens), *other[pool][1:]]
    indexed = IndexedPages(keys, tokens, tokens, 0)
    summary = SummaryPages(sums, tokens, 0)
    changed_indexed = IndexedPages(other["index_k"], other["c4"], other["window"], 0)
    changed_summary = SummaryPages(other["c128"], other["window"], 0)
    reading = reading_of([indexed, changed_indexed, indexed], [changed_summary, summary])
    is_split = {"index_k": (True, False), "c4": (True, False), "window": (True, True), "c128": (False, True)}[pool]
    assert [group.layers for group in reading.indexed] == ([(0, 2), (1,)] if is_split[0] else [(0, 1, 2)])
    assert [group.layers for group in reading.summaries] == ([(0,), (1,)] if is_split[1] else [(0, 1)])


def test_blank_window_rows_are_zero_vectors() -> None:
    case, builder, _, queries = reading_and_queries("bf16", 8)
    rows = [page.clean for page in case.pages]
    window = [row.tokens for row in rows]
    page, row = divmod(queries.position - 60, PAGE_TOKENS)
    window[page] = torn_token_page(builder.unwritten.clean.tokens, window[page], row / PAGE_TOKENS)
    keys, tokens, sums = [row.index_k for row in rows], [row.tokens for row in rows], [row.summary for row in rows]
    reading = reading_of([IndexedPages(keys, tokens, window, 0)], [SummaryPages(sums, window, 0)])
    assert (queries.windows(reading.indexed[0].window)[1] == VOCABULARY_SIZE).any()
    values, _ = plain_indexed(BENCH.model, builder.index_format, keys, tokens, window, queries)
    assert np.array_equal(indexed_output(BENCH.model, reading.indexed[0], queries).values, values)
    torn_rows = [replace(row, tokens=page) for row, page in zip(rows, window, strict=True)]
    expected = plain_summary(BENCH.model, torn_rows, queries)
    assert np.array_equal(summary_output(BENCH.model, reading.summaries[0], queries), expected)


def test_the_best_token_is_the_lowest_of_the_best_in_the_whole_table() -> None:
    rng = np.random.default_rng(5)
    values = rng.integers(-256, 257, (7, 64)).astype(np.float32) / np.float32(256)
    values[0] = 0
    table = BENCH.model.embeddings[:VOCABULARY_SIZE]
    assert np.array_equal(logits_of(BENCH.model, values), (values.astype(np.float64) @ table.T.astype(np.float64)))
    tokens = best_tokens(BENCH.model, values)
    assert np.array_equal(tokens, (values.astype(np.float64) @ table.T.astype(np.float64)).argmax(axis=1))
    assert tokens[0] == 0, "all tie"
    own = best_tokens(BENCH.model, table[[5, 900, 16_383]])
    assert own.tolist() == [5, 900, 16_383]


def test_the_order_in_which_layers_are_added_does_not_matter() -> None:
    _, _, reading, queries = reading_and_queries("bf16", 5)
    backwards = Reading(reading.indexed[::-1], reading.summaries[::-1])
    first, second = (recall(BENCH.model, each, queries) for each in (reading, backwards))
    assert np.array_equal(first.tokens, second.tokens)
    assert np.array_equal(first.margins, second.margins)


def test_selection_changes_count_what_the_reference_did_not_select() -> None:
    case, builder, reading, _ = reading_and_queries("bf16", 6)
    rows = [page.clean for page in case.pages]
    clean = layered_reading(BENCH, rows, [[row.index_k for row in rows]] * 5)
    queries = first_query(BENCH, case, clean)
    result = recall(BENCH.model, reading, queries, reference=clean)
    expected = set(indexed_output(BENCH.model, clean.indexed[0], queries).selected[0].tolist())
    own = indexed_output(BENCH.model, reading.indexed[1], queries).selected[0].tolist()
    assert result.selection_changes is not None
    assert result.selection_changes[0, :2].tolist() == [0, 0]
    assert result.selection_changes[0, 2] == len(set(own) - expected) > 0
    assert builder.index_format.dtype == "bf16"
