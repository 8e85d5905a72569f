"""Bytes against published numbers (SGLang 0.5.16 pools), not against our own code."""

from __future__ import annotations

import numpy as np
import pytest

from kernels.hicache.geometry import PoolKind, preset
from kernels.hicache.pools import TierPools
from kernels.hicache.sizing import IndexFormat, KvFormat, PoolFormats, page_bytes, slot_bytes
from tests.hicache.fake_machine import FakeMachine

FLASH = preset("deepseek-v4-flash")
BF16 = PoolFormats(index_k="bf16")
FP8 = PoolFormats(index_k="fp8")


@pytest.mark.parametrize(
    ("kind", "slot", "page"),
    [
        ("swa", 584, 149_760),
        ("c4", 584, 37_440),
        ("c128", 584, 1_728),
        ("c4_state", 8_192, 8 * 8_192),
        ("index_state", 2_048, 8 * 2_048),
        ("c128_state", 4_096, 128 * 4_096),
    ],
)
def test_flash_pools_have_the_published_sizes(kind: PoolKind, slot: int, page: int) -> None:
    assert slot_bytes(kind, BF16) == slot
    assert page_bytes(kind, FLASH, BF16) == page


@pytest.mark.parametrize(("index_k", "slot", "page"), [("fp8", 132, 8_448), ("fp4", 68, 4_352), ("bf16", 256, 16_384)])
def test_index_k_has_the_published_sizes(index_k: IndexFormat, slot: int, page: int) -> None:
    formats = PoolFormats(index_k=index_k)
    assert slot_bytes("index_k", formats) == slot
    assert page_bytes("index_k", FLASH, formats) == page


def test_dsa_pages_hold_64_tokens() -> None:
    dsa = preset("dsa")
    assert page_bytes("index_k", dsa, FP8) == 64 * 132
    widths: dict[KvFormat, int] = {"fp8_scaled": 656, "fp8": 576}
    for kv, width in widths.items():
        assert page_bytes("kv", dsa, PoolFormats(kv=kv)) == 64 * width
    assert 61 * (slot_bytes("index_k", BF16) - slot_bytes("index_k", FP8)) == 7_564


def test_pools_are_allocated_with_the_bytes_that_are_counted() -> None:
    pools = TierPools(FakeMachine(), FLASH, BF16, name="p", space="device:0", page_count=3)
    sizes = {pool.kind: (pool.buffer.layer_count, pool.buffer.page_bytes) for pool in pools}
    assert sizes["index_k"] == (21, 16_384)
    assert sizes["swa"] == (43, 149_760)
    assert sizes["c128"] == (20, 1_728)
    assert set(sizes) == set(FLASH.pool_kinds)


def test_a_pool_knows_absolute_layers() -> None:
    pools = TierPools(FakeMachine(), FLASH, BF16, name="p", space="host", page_count=3)
    pages = np.array([2, 0], dtype=np.int64)
    assert pools["index_k"].region(4, pages).layers == (1,)
    assert pools["c128"].region(3, pages).layers == (0,)
    assert pools["index_k"].all_layers(pages).byte_count == 21 * 2 * 16_384
