"""The recall model's constant tables.

Owns: token embeddings, attention weights by distance. Does not own: any state; one instance serves every engine.
Floor 2c. Source: ours.

Two kinds of attention. *Sharp*, in the indexed layers: the score is SHARPNESS times the dot product of the 64
signature signs, so one differing bit costs a factor of e^4 and an exact match takes all; of equally good tokens the
latest counts. *Averaging*, in the c128 layers: the dot product over the square root of 64, the usual scaling, so that
the output is an average over the window and all summaries.

Why every sum is exact in float32 (see kernels/arrays/grid.py): sharp weights are multiples of 2^-10 and values +-1;
averaging weights are multiples of 2^-13 and values multiples of 2^-6; each layer's output is rounded to multiples of
2^-8 and is at most 2 in magnitude, so the sum over 41 layers takes 15 bits, and a logit over 64 dimensions 21 of 24.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kernels.arrays.attention import WEIGHT_BITS
from kernels.arrays.grid import to_grid
from kernels.engine.recall.codes import embedding_words, signs_of
from kernels.engine.recall.shape import EMBEDDING_DIM, SIGNATURE_BITS, RecallShape
from kernels.engine.vocabulary import VOCABULARY_SIZE

SHARPNESS = 2.0
AVERAGING = float(SIGNATURE_BITS) ** -0.5
AVERAGING_WEIGHT_BITS = 13
SUMMARY_GRID_BITS = 6
OUTPUT_BITS = 8

BLOCK_TOKENS = 64

BLANK = VOCABULARY_SIZE
"""Token number of a row that was never written: a zero vector, with score and value 0."""
ABSENT = VOCABULARY_SIZE + 1
"""Token number of a place in front of the prompt's first token: nothing to attend to."""

BLANK_DISTANCE = SIGNATURE_BITS // 2
ABSENT_DISTANCE = 255


@dataclass(frozen=True, slots=True, eq=False)
class RecallModel:
    """embeddings: [vocabulary + 2, 64] float32, +-1; the two last rows (BLANK, ABSENT) are zeros.

    embedding_blocks: [vocabulary / 64, 64, 64] float32, the embeddings of 64 tokens each, transposed. Products of this
        size stay on the calling thread in every BLAS; on a busy machine its threads would wait for each other.
    sharp_weights: [reach + 1] float32, what a token whose signature differs from the query's by d bits more than the
        best one's weighs against it; farther ones weigh nothing on the weights' grid.
    """

    shape: RecallShape
    embeddings: NDArray[np.float32]
    embedding_blocks: NDArray[np.float32]
    sharp_weights: NDArray[np.float32]


def build_model(shape: RecallShape) -> RecallModel:
    """The model is a pure function of its shape."""
    embeddings = np.zeros((VOCABULARY_SIZE + 2, EMBEDDING_DIM), dtype=np.float32)
    embeddings[:VOCABULARY_SIZE] = signs_of(embedding_words(VOCABULARY_SIZE))
    embeddings.setflags(write=False)
    blocks = embeddings[:VOCABULARY_SIZE].reshape(-1, BLOCK_TOKENS, EMBEDDING_DIM).transpose(0, 2, 1).copy()
    blocks.setflags(write=False)
    distances = np.arange(SIGNATURE_BITS + 1)
    weights = to_grid(np.exp(-2.0 * SHARPNESS * distances), WEIGHT_BITS).astype(np.float32)
    sharp_weights = weights[: int(np.count_nonzero(weights))]
    sharp_weights.setflags(write=False)
    return RecallModel(shape, embeddings, blocks, sharp_weights)
