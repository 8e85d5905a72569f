"""Page contents: real bytes, what a reader makes of them, torn pages, variants."""

from __future__ import annotations

from typing import get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from kernels.arrays.bfloat16 import decode_bf16, encode_bf16
from kernels.arrays.float8 import encode_fp8
from kernels.engine.recall.codes import codes_of, signatures_of, signs_of
from kernels.engine.recall.content import PageBuilder
from kernels.engine.recall.index_page import IndexDtype, IndexPage
from kernels.engine.recall.model import BLANK, build_model
from kernels.engine.recall.reading import identity_of, read_token_pages
from kernels.engine.recall.shape import PAGE_TOKENS, RecallShape
from kernels.engine.recall.token_page import token_page_of_bytes
from kernels.engine.recall.torn import torn_index_page, torn_summary_page, torn_token_page

MODEL = build_model(RecallShape())
DTYPES: tuple[IndexDtype, ...] = get_args(IndexDtype)
BUILDERS = {dtype: PageBuilder(MODEL, dtype) for dtype in DTYPES}
TEARS = st.one_of(st.floats(0, 1), st.integers(0, 64).map(lambda row: row / 64))


def run_of(seed: int, count: int) -> tuple[NDArray[np.int32], NDArray[np.uint64]]:
    rng = np.random.default_rng(seed)
    return rng.integers(0, 16_384, count).astype(np.int32), rng.integers(0, 2**64, count, dtype=np.uint64)


def keys_of(page: IndexPage, dtype: IndexDtype) -> NDArray[np.float32]:
    """The page's keys as its records say, to compare with what its bytes say."""
    keys = signs_of(page.codes).reshape(64, 128)
    if page.irregular is not None:
        keys[page.irregular.blank_rows] = 0
        keys[page.irregular.odd_rows] = page.irregular.odd_keys
    assert dtype in DTYPES
    return keys


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("count", [256, 255, 128, 5, 3, 256 * 2 + 77])
def test_index_k_bytes_are_the_codecs_own(dtype: IndexDtype, count: int) -> None:
    tokens, contexts = run_of(count, count)
    pages = BUILDERS[dtype].build(tokens, contexts)
    assert [page.token_count for page in pages] == [min(256, count - begin) for begin in range(0, count, 256)]
    keys = np.zeros((len(pages) * 64, 128), dtype=np.float32)
    for entry in range(count // 4):
        for part in range(4):
            bits = int(codes_of(contexts[entry * 4 + part : entry * 4 + part + 1])[0])
            keys[entry, part * 32 : part * 32 + 32] = [1 if bits >> dimension & 1 else -1 for dimension in range(32)]
    for index, page in enumerate(pages):
        own = keys[index * 64 : index * 64 + 64]
        rows = int(own.any(axis=1).sum())
        if dtype == "bf16":
            expected = encode_bf16(own).ravel()
        else:
            codes, scales = encode_fp8(own[:rows])
            expected = np.zeros(64 * 132, dtype=np.uint8)
            expected[: rows * 128] = codes.ravel()
            expected[64 * 128 : 64 * 128 + rows * 4] = scales.ravel().view(np.uint8)
        assert np.array_equal(page.clean.index_k.stored, expected)
        assert np.array_equal(BUILDERS[dtype].index_format.decode(page.clean.index_k.stored), own)
        assert np.array_equal(keys_of(page.clean.index_k, dtype), own)


@pytest.mark.parametrize("dtype", DTYPES)
@given(count=st.integers(1, 300), seed=st.integers(0, 99))
def test_a_built_page_is_what_a_reader_makes_of_its_bytes(dtype: IndexDtype, count: int, seed: int) -> None:
    for page in BUILDERS[dtype].build(*run_of(seed, count)):
        read = BUILDERS[dtype].index_format.page_of_bytes(page.clean.index_k.stored)
        assert np.array_equal(read.codes, page.clean.index_k.codes)
        assert np.array_equal(keys_of(read, dtype), keys_of(page.clean.index_k, dtype))
        tokens = token_page_of_bytes(page.clean.tokens.stored)
        assert np.array_equal(tokens.signatures, page.clean.tokens.signatures)
        assert np.array_equal(tokens.numbers, page.clean.tokens.numbers)


def test_token_rows_and_summaries_hold_what_their_names_say() -> None:
    tokens, contexts = run_of(4, 300)
    first, second = BUILDERS["bf16"].build(tokens, contexts)
    assert np.array_equal(first.clean.tokens.signatures, signatures_of(contexts[:256]))
    assert np.array_equal(second.clean.tokens.numbers[:44], tokens[256:])
    assert (second.clean.tokens.numbers[44:] == BLANK).all()
    for half in (0, 1):
        part = slice(half * 128, half * 128 + 128)
        means = np.concatenate(
            [signs_of(signatures_of(contexts[part])).mean(axis=0), MODEL.embeddings[tokens[part]].mean(axis=0)]
        )
        assert np.array_equal(first.clean.summary[half] / 64, means)
    assert not second.clean.summary.any(), "its 128 tokens are not complete"


@pytest.mark.parametrize("dtype", DTYPES)
def test_an_unwritten_page_is_zeros_in_every_pool(dtype: IndexDtype) -> None:
    rows = BUILDERS[dtype].unwritten.clean
    assert not rows.index_k.stored.any()
    assert not keys_of(rows.index_k, dtype).any()
    assert not rows.tokens.stored.any()
    assert (rows.tokens.numbers == BLANK).all()
    assert not rows.summary.any()
    assert read_token_pages([rows.tokens], begin=0).has_blanks


@pytest.mark.parametrize("dtype", DTYPES)
@given(tear=TEARS, head_count=st.sampled_from([0, 100, 256]), tail_count=st.sampled_from([0, 100, 256]))
def test_a_torn_page_is_its_heads_bytes_and_then_its_tails(
    dtype: IndexDtype, tear: float, head_count: int, tail_count: int
) -> None:
    builder = BUILDERS[dtype]
    head, tail = (
        builder.build(*run_of(seed, count))[0].clean if count else builder.unwritten.clean
        for seed, count in ((1, head_count), (2, tail_count))
    )
    torn = torn_index_page(builder.index_format, head.index_k, tail.index_k, tear)
    cut = int(tear * builder.index_format.page_bytes)
    assert torn.stored.tobytes() == head.index_k.stored.tobytes()[:cut] + tail.index_k.stored.tobytes()[cut:]
    keys = keys_of(torn, dtype)
    assert np.array_equal(keys, builder.index_format.decode(torn.stored))
    assert np.array_equal(keys * 1024, np.rint(keys * 1024)), "on the grid"
    assert np.abs(keys).max() <= 1
    tokens = torn_token_page(head.tokens, tail.tokens, tear)
    cut = int(tear * 2560)
    assert tokens.stored.tobytes() == head.tokens.stored.tobytes()[:cut] + tail.tokens.stored.tobytes()[cut:]
    assert (tokens.numbers <= BLANK).all()
    summary = torn_summary_page(head.summary, tail.summary, tear)
    cut = int(tear * 256)
    assert summary.tobytes() == head.summary.tobytes()[:cut] + tail.summary.tobytes()[cut:]


def test_a_tear_inside_a_row_mixes_the_numbers_of_that_row_only() -> None:
    builder = BUILDERS["bf16"]
    head, tail = (builder.build(*run_of(seed, 256))[0].clean.index_k for seed in (1, 2))
    torn = keys_of(torn_index_page(builder.index_format, head, tail, 10.25 / 64), "bf16")
    assert np.array_equal(torn[:10], keys_of(head, "bf16")[:10])
    assert np.array_equal(torn[11:], keys_of(tail, "bf16")[11:])
    assert np.array_equal(torn[10], np.concatenate([keys_of(head, "bf16")[10, :32], keys_of(tail, "bf16")[10, 32:]]))


def test_a_tear_inside_a_number_over_zeros_leaves_an_odd_row() -> None:
    builder = BUILDERS["bf16"]
    written = builder.build(*run_of(1, 256))[0].clean.index_k
    torn = torn_index_page(builder.index_format, builder.unwritten.clean.index_k, written, (5 * 256 + 7) / 16384)
    assert torn.irregular is not None
    assert torn.irregular.odd_rows.tolist() == [5]
    values = decode_bf16(torn.stored.reshape(64, 256))
    assert np.abs(values[5, 3]) == 0.5, "half of a +-1 behind half of a zero"
    assert torn.irregular.blank_rows.tolist() == [0, 1, 2, 3, 4]


def test_a_torn_fp8_page_has_the_scales_of_its_tail() -> None:
    builder = BUILDERS["fp8"]
    written = builder.build(*run_of(1, 256))[0].clean.index_k
    blank = builder.unwritten.clean.index_k
    arriving = torn_index_page(builder.index_format, written, blank, 0.9)
    assert not keys_of(arriving, "fp8").any(), "keys without scales are zeros"
    other = builder.build(*run_of(2, 256))[0].clean.index_k
    assert keys_of(torn_index_page(builder.index_format, written, other, 0.9), "fp8").all()


def test_identities_name_the_content_and_the_number_format() -> None:
    tokens, contexts = run_of(3, 256)
    (page,) = BUILDERS["bf16"].build(tokens, contexts)
    (same,) = PageBuilder(MODEL, "bf16").build(tokens, contexts)
    (other_format,) = BUILDERS["fp8"].build(tokens, contexts)
    (other_hash,) = BUILDERS["bf16"].build(tokens, contexts + np.uint64(1))
    (shorter,) = BUILDERS["bf16"].build(tokens[:-1], contexts[:-1])
    assert page.identity == same.identity
    others = {p.identity for p in (other_format, other_hash, shorter, BUILDERS["bf16"].unwritten)}
    assert len(others | {page.identity}) == 5
    assert identity_of([page, other_hash]) == identity_of([same, other_hash]) != identity_of([other_hash, page])


def test_a_variant_differs_in_its_layers_only() -> None:
    tokens, contexts = run_of(3, PAGE_TOKENS)
    builder = BUILDERS["bf16"]
    (page,) = builder.build(tokens, contexts)
    wrong = contexts.copy()
    wrong[40:60] += np.uint64(1)
    poisoned = builder.with_variants(page, tokens, {3: wrong, 5: wrong.copy()})
    assert poisoned.for_layer(2) is page.clean
    assert poisoned.for_layer(3) is poisoned.for_layer(5), "equal rows are held once"
    rows = poisoned.for_layer(3)
    changed = np.flatnonzero((rows.index_k.codes != page.clean.index_k.codes).any(axis=1))
    assert changed.tolist() == [10, 11, 12, 13, 14]
    assert np.array_equal(rows.tokens.numbers, page.clean.tokens.numbers)
    assert poisoned.identity != page.identity
    again = builder.with_variants(poisoned, tokens, {4: contexts})
    assert np.array_equal(again.for_layer(4).index_k.stored, page.clean.index_k.stored)
    assert again.for_layer(3) is rows
