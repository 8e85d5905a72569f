"""The next token: the layers' outputs added up, and the token whose embedding lies nearest.

Owns: the sum, the argmax, and the diagnostics of one evaluation. Does not own: single layers (`indexed.py`,
`summaries.py`), the loop over a reply (`generate.py`). Floor 2c.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kernels.engine.recall.indexed import IndexedOutput, indexed_output
from kernels.engine.recall.model import BLOCK_TOKENS, RecallModel
from kernels.engine.recall.queries import Queries
from kernels.engine.recall.reading import Reading
from kernels.engine.recall.scores import TokenScores, scores_of
from kernels.engine.recall.summaries import summary_output
from kernels.engine.tokenizer import TokenIds
from kernels.engine.vocabulary import VOCABULARY_SIZE


@dataclass(frozen=True, slots=True, eq=False)
class Recalled:
    """What each query recalled, and how the layers came to it.

    tokens: [n] int32, by the sum of all layers. margins: [n] float32, best logit minus second best.
    layer_tokens: [n, indexed_layers] int32, what each indexed layer alone would have said.
    votes: [n] int64, indexed layers that would have said the token.
    selection_changes: [n, indexed_layers] int64, selected entries that the reference did not select; None without one.
    """

    tokens: TokenIds
    margins: NDArray[np.float32]
    layer_tokens: TokenIds
    votes: NDArray[np.int64]
    selection_changes: NDArray[np.int64] | None


def recall_tokens(model: RecallModel, reading: Reading, queries: Queries) -> TokenIds:
    """The next token of each query. Returns: [n] int32; the lowest id on ties."""
    return best_tokens(model, _total(model, reading, queries, _indexed(model, reading, queries)))


def recall_scores(model: RecallModel, reading: Reading, queries: Queries, count: int) -> list[TokenScores]:
    """The tokens of `recall_tokens`, each with its log-probability and the `count` best of its place."""
    total = _total(model, reading, queries, _indexed(model, reading, queries))
    return scores_of(model, logits_of(model, total), count)


def recall(model: RecallModel, reading: Reading, queries: Queries, *, reference: Reading | None = None) -> Recalled:
    """The next token of each query, with diagnostics.

    Args: reference: what the first group of it selects is compared with; the clean reading, as a rule.
    """
    outputs = _indexed(model, reading, queries)
    total = _total(model, reading, queries, outputs)
    tokens = best_tokens(model, total)
    best_two = np.partition(logits_of(model, total), VOCABULARY_SIZE - 2, axis=1)[:, -2:]
    layer_tokens = np.empty((len(tokens), reading.indexed_layer_count), dtype=np.int32)
    for group, output in zip(reading.indexed, outputs, strict=True):
        layer_tokens[:, list(group.layers)] = best_tokens(model, output.values)[:, None]
    return Recalled(
        tokens=tokens,
        margins=best_two[:, 1] - best_two[:, 0],
        layer_tokens=layer_tokens,
        votes=(layer_tokens == tokens[:, None]).sum(axis=1),
        selection_changes=None if reference is None else _changes(model, reading, outputs, queries, reference),
    )


def logits_of(model: RecallModel, values: NDArray[np.float32]) -> NDArray[np.float32]:
    """How well each token's embedding fits. Args: values [n, 64]. Returns: [n, vocabulary] float32."""
    return _block_logits(model, values).swapaxes(0, 1).reshape(len(values), VOCABULARY_SIZE)


def best_tokens(model: RecallModel, values: NDArray[np.float32]) -> TokenIds:
    """The token with the best logit; the lowest id on ties. Args: values [n, 64]. Returns: [n] int32."""
    logits = _block_logits(model, values)
    # The first best block and the first best token in it; `logits_of` would copy them all to find the same.
    blocks = logits.max(axis=2).argmax(axis=0)
    inside = logits[blocks, np.arange(len(values))].argmax(axis=1)
    tokens: TokenIds = (blocks * BLOCK_TOKENS + inside).astype(np.int32)
    return tokens


def _block_logits(model: RecallModel, values: NDArray[np.float32]) -> NDArray[np.float32]:
    """[block_count, n, 64]."""
    logits: NDArray[np.float32] = np.matmul(values[None], model.embedding_blocks)
    return logits


def _indexed(model: RecallModel, reading: Reading, queries: Queries) -> list[IndexedOutput]:
    assert reading.indexed_layer_count == model.shape.indexed_layers, (reading.indexed_layer_count, model.shape)
    return [indexed_output(model, group, queries) for group in reading.indexed]


def _total(model: RecallModel, reading: Reading, queries: Queries, outputs: list[IndexedOutput]) -> NDArray[np.float32]:
    """[n, 64]: every layer's output, added up; exact, so that n times one layer is n layers."""
    total = np.zeros_like(outputs[0].values)
    for group, output in zip(reading.indexed, outputs, strict=True):
        total += np.float32(len(group.layers)) * output.values
    for summary in reading.summaries:
        total += np.float32(len(summary.layers)) * summary_output(model, summary, queries)
    return total


def _changes(
    model: RecallModel, reading: Reading, outputs: list[IndexedOutput], queries: Queries, reference: Reading
) -> NDArray[np.int64]:
    expected = indexed_output(model, reference.indexed[0], queries).selected
    changes = np.empty((len(expected), reading.indexed_layer_count), dtype=np.int64)
    for group, output in zip(reading.indexed, outputs, strict=True):
        kept = [len(np.intersect1d(a, b)) for a, b in zip(output.selected, expected, strict=True)]
        changes[:, list(group.layers)] = (output.selected.shape[1] - np.array(kept, dtype=np.int64))[:, None]
    return changes
