"""The indexed layers: score, select, attend over what was selected and over the window.

Owns: one group's output. Does not own: the sum over layers (`recall.py`). Floor 2c.
Source: DeepSeek's sparse attention in outline (index scores, top-k, attention over the selected entries and a sliding
window); queries, keys and values are ours.

The constructed query of head j is the code's signs in block j and zero elsewhere, all head weights are 1. So a
score is the sum over the four blocks of ReLU(32 - 2 * differing bits), which is counted on the codes; odd rows, which
are not signs, go through `index_scores` itself. A test compares all rows with `index_scores`, bit by bit.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kernels.arrays.attention import WEIGHT_BITS
from kernels.arrays.grid import to_grid
from kernels.arrays.scores import index_scores
from kernels.arrays.selection import top_k
from kernels.engine.recall.codes import Codes, codes_of, signatures_of, signs_of
from kernels.engine.recall.model import (
    ABSENT,
    ABSENT_DISTANCE,
    BLANK,
    BLANK_DISTANCE,
    OUTPUT_BITS,
    RecallModel,
)
from kernels.engine.recall.queries import Queries
from kernels.engine.recall.reading import IndexedGroup, IndexReading
from kernels.engine.recall.shape import CODE_BITS, EMBEDDING_DIM, ENTRY_TOKENS, INDEX_HEADS, KEY_DIM
from kernels.engine.recall.token_page import TokenNumbers

Distances = NDArray[np.uint8]


@dataclass(frozen=True, slots=True, eq=False)
class IndexedOutput:
    """values: [query_count, 64] float32. selected: [query_count, selected_count] int64, entries, ascending."""

    values: NDArray[np.float32]
    selected: NDArray[np.int64]


def indexed_output(model: RecallModel, group: IndexedGroup, queries: Queries) -> IndexedOutput:
    """The output of each layer of the group; they are equal."""
    entry_count = queries.position // ENTRY_TOKENS
    scores = entry_scores(group.index_k, codes_of(queries.contexts), entry_count)
    selected = top_k(scores, model.shape.top_k)
    signatures = signatures_of(queries.contexts)[:, None]
    entry_signatures = group.c4.signatures[: entry_count * ENTRY_TOKENS].reshape(-1, ENTRY_TOKENS)
    entry_numbers = group.c4.numbers[: entry_count * ENTRY_TOKENS].reshape(-1, ENTRY_TOKENS)
    query_count, selected_count = selected.shape
    found = np.bitwise_count(entry_signatures[selected].reshape(query_count, -1) ^ signatures)
    if group.c4.has_blanks:
        _correct(found, entry_numbers[selected].reshape(query_count, -1))
    window_signatures, window_numbers = queries.windows(group.window)
    near = np.bitwise_count(window_signatures ^ signatures)
    _correct(near, window_numbers)
    rows, columns, weights = sharp_attention(model, np.concatenate([found, near], axis=1))
    numbers = np.empty(len(rows), dtype=np.uint16)
    found_count = selected_count * ENTRY_TOKENS
    is_found = columns < found_count
    entry, part = np.divmod(columns[is_found], ENTRY_TOKENS)
    numbers[is_found] = entry_numbers[selected[rows[is_found], entry], part]
    numbers[~is_found] = window_numbers[rows[~is_found], columns[~is_found] - found_count]
    values = np.zeros((query_count, EMBEDDING_DIM), dtype=np.float32)
    np.add.at(values, rows, weights[:, None] * model.embeddings[numbers])
    return IndexedOutput(to_grid(values, OUTPUT_BITS), selected)


def entry_scores(reading: IndexReading, codes: Codes, entry_count: int) -> NDArray[np.float32]:
    """Index scores of the first `entry_count` entries. Returns: [len(codes), entry_count] float32."""
    assert entry_count <= reading.codes.shape[1], (entry_count, reading.codes.shape)
    half = np.zeros((len(codes), entry_count), dtype=np.uint8)
    for head in range(INDEX_HEADS):
        differing = np.bitwise_count(reading.codes[head, :entry_count] ^ codes[:, None])
        half += CODE_BITS // 2 - np.minimum(differing, CODE_BITS // 2)
    scores = half.astype(np.float32) * np.float32(2)
    scores[:, reading.blank_rows[reading.blank_rows < entry_count]] = 0
    is_read = reading.odd_rows < entry_count
    if is_read.any():
        weights = np.ones(INDEX_HEADS, dtype=np.float32)
        scores[:, reading.odd_rows[is_read]] = index_scores(head_queries(codes), weights, reading.odd_keys[is_read])
    return scores


def head_queries(codes: Codes) -> NDArray[np.float32]:
    """The constructed queries in full. Args: codes [n] uint32. Returns: [n, 4, 128] float32."""
    queries = np.zeros((len(codes), INDEX_HEADS, INDEX_HEADS, CODE_BITS), dtype=np.float32)
    heads = np.arange(INDEX_HEADS)
    queries[:, heads, heads] = signs_of(codes)[:, None]
    return queries.reshape(len(codes), INDEX_HEADS, KEY_DIM)


def sharp_attention(
    model: RecallModel, distances: Distances
) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.float32]]:
    """The slots that weigh something, by the distance of their signature from the query's.

    Args: distances: [query_count, slot_count] uint8, differing bits, slots in the order of their tokens.
    Returns: rows [m], columns [m] and weights [m] float32, the same as `grid_softmax(keep_latest_best(scores))` has.
    """
    slot_count = distances.shape[1]
    best = distances.min(axis=1)
    latest = slot_count - 1 - distances[:, ::-1].argmin(axis=1)
    reach = len(model.sharp_weights) - 1
    places = np.flatnonzero(distances <= (best + np.uint8(reach))[:, None])
    rows, columns = places // slot_count, places % slot_count
    farther = distances.ravel()[places] - best[rows]
    weights = model.sharp_weights[farther] * ((farther > 0) | (columns == latest[rows]))
    totals = np.bincount(rows, weights, minlength=len(distances)).astype(np.float32)
    return rows, columns, to_grid(weights / totals[rows], WEIGHT_BITS)


def _correct(distances: Distances, numbers: TokenNumbers) -> None:
    """Effect: sets the distances of rows that are not signs: a zero vector's product is 0, an absent row has none."""
    distances[numbers == BLANK] = BLANK_DISTANCE
    distances[numbers == ABSENT] = ABSENT_DISTANCE
