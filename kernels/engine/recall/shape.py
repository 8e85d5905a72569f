"""Sizes of the recall model.

Owns: how many layers, rows and dimensions there are. Does not own: the simulated byte counts of the pools, which are
the real model's (hicache's geometry): the payload computed here is smaller than the bytes that the cost model moves.
Floor 2c. Source: layer counts, top-k, window and compression of DeepSeek-V4-Flash; the dimensions are ours.
"""

from __future__ import annotations

from dataclasses import dataclass

ENTRY_TOKENS = 4
"""Tokens in one c4 entry: one index-K row, and one latent row with a part for each token."""
SUMMARY_TOKENS = 128
"""Tokens averaged in one c128 entry."""
PAGE_TOKENS = 256
ENTRY_ROWS = PAGE_TOKENS // ENTRY_TOKENS
SUMMARY_ROWS = PAGE_TOKENS // SUMMARY_TOKENS
WINDOW_TOKENS = 128
"""Tokens that every layer attends over without selection."""

INDEX_HEADS = ENTRY_TOKENS
CODE_BITS = 32
"""Dimensions of one index head: head j looks for its query's code in block j, which token j of an entry filled."""
KEY_DIM = INDEX_HEADS * CODE_BITS
SIGNATURE_BITS = 64
EMBEDDING_DIM = 64


@dataclass(frozen=True, slots=True)
class RecallShape:
    """The defaults are V4-Flash's: 21 c4 layers with an index each, 20 c128 layers, top-512."""

    indexed_layers: int = 21
    summary_layers: int = 20
    top_k: int = 512
