"""The c128 layers: one averaging attention over the window and all summaries.

Owns: one group's output. Does not own: the sum over layers (`recall.py`). Floor 2c.
Source: DeepSeek-V4's layout in outline (a window and every 128-fold compressed entry, no selection); the rest is ours.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kernels.arrays.attention import grid_softmax
from kernels.arrays.grid import to_grid
from kernels.engine.recall.codes import signatures_of, signs_of
from kernels.engine.recall.model import ABSENT, AVERAGING, AVERAGING_WEIGHT_BITS, BLANK, OUTPUT_BITS, RecallModel
from kernels.engine.recall.queries import Queries
from kernels.engine.recall.reading import SummaryGroup
from kernels.engine.recall.shape import SUMMARY_TOKENS, WINDOW_TOKENS


def summary_output(model: RecallModel, group: SummaryGroup, queries: Queries) -> NDArray[np.float32]:
    """The output of each layer of the group; they are equal. Returns: [query_count, 64] float32."""
    summary_count = queries.position // SUMMARY_TOKENS
    assert summary_count <= len(group.c128.signatures), (summary_count, group.c128.signatures.shape)
    signs = signs_of(signatures_of(queries.contexts))
    # Window rows and tail as one matrix; each query sees 128 neighbours of it, a band.
    row_signatures, row_numbers = queries.window_and_tail(group.window)
    row_signs = signs_of(row_signatures)
    row_signs[row_numbers == BLANK] = 0
    near = signs @ row_signs.T * np.float32(AVERAGING)
    near[:, row_numbers == ABSENT] = -np.inf
    seen = queries.lags[:, None] + np.arange(WINDOW_TOKENS)
    far = signs @ group.c128.signatures[:summary_count].T * np.float32(AVERAGING)
    scores = np.concatenate([np.take_along_axis(near, seen, axis=1), far], axis=1)
    weights = grid_softmax(scores, AVERAGING_WEIGHT_BITS)
    band = np.zeros_like(near)
    np.put_along_axis(band, seen, weights[:, :WINDOW_TOKENS], axis=1)
    values = band @ model.embeddings[row_numbers]
    values += weights[:, WINDOW_TOKENS:] @ group.c128.embeddings[:summary_count]
    return to_grid(values, OUTPUT_BITS)
