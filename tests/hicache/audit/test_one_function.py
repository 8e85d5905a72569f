"""What the allocator takes is what the sizing counts, padding included, whatever the model, format, page and layout.

Owns: the property. The reference: a page's bytes worked out by hand, what a buffer was made with, and the bytes that a
layout really reaches. Floor: tests.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernels.arrays.layout import LAYOUTS, Layout, PoolShape, page_runs
from kernels.hicache.audit.allocation import device_page_counts
from kernels.hicache.audit.costs import pool_costs
from kernels.hicache.audit.rules import RULES, RulesName, WindowPool
from kernels.hicache.geometry import Geometry, PoolKind, paged, preset, preset_names
from kernels.hicache.pools import TierPools
from kernels.hicache.sizing import IndexFormat, KvFormat, PoolFormats, pool_sizes
from tests.hicache.fake_machine import FakeMachine

INDEX_FORMATS: tuple[IndexFormat, ...] = ("fp8", "fp4", "bf16")
KV_FORMATS: tuple[KvFormat, ...] = ("fp8_scaled", "fp8")
PAGES = {"dsa": (1, 16, 64, 128)}

geometries = st.sampled_from(preset_names()).flatmap(
    lambda name: st.sampled_from(PAGES.get(name, (128, 256, 512))).map(lambda tokens: paged(preset(name), tokens))
)
formats = st.builds(PoolFormats, index_k=st.sampled_from(INDEX_FORMATS), kv=st.sampled_from(KV_FORMATS))


def page_by_hand(kind: PoolKind, page_tokens: int, ratio: int, formats: PoolFormats) -> int:
    """Bytes of one page in one layer: latents in whole rows of 576 bytes, everything else as it comes."""
    latents = {"swa": page_tokens, "c4": page_tokens // 4, "c128": page_tokens // 128}
    if kind in latents:
        return -(-latents[kind] * 584 // 576) * 576
    if kind == "index_k":
        return page_tokens // ratio * {"fp8": 132, "fp4": 68, "bf16": 256}[formats.index_k]
    if kind == "kv":
        return page_tokens * {"fp8_scaled": 656, "fp8": 576}[formats.kv]
    return {"c4_state": 8 * 8_192, "index_state": 8 * 2_048, "c128_state": 128 * 4_096}[kind]


@given(geometry=geometries, formats=formats, page_count=st.integers(min_value=1, max_value=5))
def test_a_tier_is_allocated_with_the_bytes_that_are_counted(
    geometry: Geometry, formats: PoolFormats, page_count: int
) -> None:
    tier = TierPools(FakeMachine(), geometry, formats, name="p", space="device:0", page_count=page_count)
    sizes = pool_sizes(geometry, formats, dict.fromkeys(geometry.pool_kinds, page_count))
    counted = {size.kind: size.size_bytes for size in sizes}
    buffers = {pool.kind: pool.buffer for pool in tier}
    allocated = {kind: buf.layer_count * buf.page_count * buf.page_bytes for kind, buf in buffers.items()}
    by_hand = {
        kind: len(geometry.layers_with(kind))
        * page_count
        * page_by_hand(kind, geometry.page_tokens, geometry.index_ratio, formats)
        for kind in geometry.pool_kinds
    }
    assert allocated == counted == by_hand


@given(geometry=geometries, formats=formats, rules=st.sampled_from(sorted(RULES)), units=st.integers(1, 40))
def test_counted_bytes_a_token_are_the_pools_bytes(
    geometry: Geometry, formats: PoolFormats, rules: RulesName, units: int
) -> None:
    """At a multiple of ten pages the window pool has whole pages, and a token's bytes times the tokens are exact."""
    tokens = 40 * units * geometry.page_tokens
    window = WindowPool(0.25, RULES[rules].ring_tokens(geometry))
    pools = pool_sizes(geometry, formats, device_page_counts(geometry, tokens, window))
    costs = pool_costs(geometry, formats, "allocated", RULES[rules], swa_ratio=0.25)
    for pool, cost in zip(pools, costs, strict=True):
        assert pool.kind == cost.kind
        assert cost.by_formula_bytes * tokens == pytest.approx(pool.size_bytes, rel=1e-12)


@given(
    layout=st.sampled_from(LAYOUTS),
    geometry=geometries,
    formats=formats,
    kind_index=st.integers(min_value=0, max_value=7),
    page_count=st.integers(min_value=1, max_value=3),
)
def test_no_layout_takes_another_amount(
    layout: Layout, geometry: Geometry, formats: PoolFormats, kind_index: int, page_count: int
) -> None:
    """Every byte of a pool belongs to exactly one page and layer, in each layout."""
    kind = geometry.pool_kinds[kind_index % len(geometry.pool_kinds)]
    (size,) = pool_sizes(geometry, formats, {kind: page_count})
    rows = 4 if size.page_bytes % 4 == 0 else 1
    layers = min(size.layer_count, 3)
    shape = PoolShape(layers, page_count, rows, size.page_bytes // rows)
    spans = sorted(
        (runs.begin + index * runs.stride_bytes, runs.run_bytes)
        for layer in range(layers)
        for page in range(page_count)
        for runs in [page_runs(layout, shape, layer, page)]
        for index in range(runs.count)
    )
    end = 0
    for begin, length in spans:
        assert begin == end
        end += length
    assert end * size.layer_count == size.size_bytes * layers
