"""Reading a pool too early by a time: what is stale is what the copy had not moved yet.

Owns: the little program on the virtual machine. The reference is arithmetic on bandwidth and page size.
Floor: tests.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

from harness.search.ablation.early import EarlyReads, LoadPlan, early_reads
from harness.search.ablation.spec import POOLS
from kernels.hicache.geometry import PoolKind
from kernels.hicache.paths import TransferPath
from kernels.hicache.sizing import PoolFormats, page_bytes
from kernels.substrate.cost_file import load_cost_model
from tests.harness.ablation.small import FLASH

PAGES = 40
DELAYS_NS = (0, 5_000, 40_000, 5_000_000)
COST = load_cost_model()


def plan(index_k: str = "bf16") -> LoadPlan:
    formats = PoolFormats("fp8" if index_k == "fp8" else "bf16")
    return LoadPlan(FLASH, formats, TransferPath("layer_first", "kernel"), COST, PAGES)


@pytest.fixture(scope="module")
def reads() -> EarlyReads:
    return early_reads(plan(), POOLS, DELAYS_NS)


@pytest.mark.parametrize("pool", POOLS)
@pytest.mark.parametrize("delay_ns", DELAYS_NS)
def test_what_had_not_moved_is_stale(reads: EarlyReads, pool: PoolKind, delay_ns: int) -> None:
    (early,) = reads[pool, delay_ns]
    count = 1 if pool == "swa" else PAGES
    page_ns = page_bytes(pool, FLASH, PoolFormats("bf16")) / COST.gather_bandwidth
    stale = np.flatnonzero(early.view.stale[0])
    assert early.layers == FLASH.layers_with(pool)
    assert len(stale) == min(count, math.ceil(delay_ns / page_ns))
    assert stale.tolist() == list(range(count - len(stale), count)), "the copy walks from the front"


def test_the_last_page_was_late_by_the_delay(reads: EarlyReads) -> None:
    for pool in POOLS:
        for delay_ns in DELAYS_NS:
            (early,) = reads[pool, delay_ns]
            assert early.view.late_ns[0, -1] == delay_ns


def test_a_page_on_its_way_is_torn_between_old_and_new(reads: EarlyReads) -> None:
    (early,) = reads["index_k", 5_000]
    torn = np.flatnonzero(early.view.tear[0] < 1)
    assert len(torn) == 1
    (place,) = torn.tolist()
    assert early.view.head[0, place] == place + 1
    assert early.view.tail[0, place] == place + 1 + PAGES
    assert early.view.wanted[0].tolist() == list(range(1, PAGES + 1))


def test_narrow_keys_have_more_pages_still_to_come() -> None:
    wide, narrow = (early_reads(plan(index_k), ["index_k"], [20_000]) for index_k in ("bf16", "fp8"))
    ((one,), (other,)) = wide["index_k", 20_000], narrow["index_k", 20_000]
    assert other.view.stale.sum() > one.view.stale.sum()
