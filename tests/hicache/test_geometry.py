"""Presets hold the published layer orders."""

from __future__ import annotations

import pytest

from kernels.errors import ConfigError
from kernels.hicache.geometry import preset, preset_names


def test_flash_has_the_published_layer_order() -> None:
    flash = preset("deepseek-v4-flash")
    ratios = {"swa": 0, "c4": 4, "c128": 128}
    order = [ratios[kind] for kind in flash.layer_kinds]
    assert order[:6] == [0, 0, 4, 128, 4, 128]
    assert order[-3:] == [4, 128, 4]
    assert (flash.layer_count, order.count(0), order.count(4), order.count(128)) == (43, 2, 21, 20)
    assert (flash.top_k, flash.page_tokens, flash.reach_tokens) == (512, 256, 2048)


def test_pro_has_the_published_layer_order() -> None:
    pro = preset("deepseek-v4-pro")
    assert pro.layer_kinds[:4] == ("c128", "c128", "c4", "c128")
    assert pro.layer_kinds[-1] == "c4"
    assert (pro.layer_count, pro.layer_kinds.count("c4"), pro.layer_kinds.count("c128")) == (61, 30, 31)
    assert pro.top_k == 1024


def test_dsa_indexes_every_layer_and_has_no_window() -> None:
    dsa = preset("dsa")
    assert len(dsa.layers_with("index_k")) == dsa.layer_count == 61
    assert dsa.pool_kinds == ("kv", "index_k")
    assert not dsa.has_window
    assert dsa.reach_tokens == 2048


@pytest.mark.parametrize("name", preset_names())
def test_index_k_comes_after_the_main_pools_of_its_layer(name: str) -> None:
    geometry = preset(name)
    for layer in geometry.layers_with("index_k"):
        pools = geometry.pools_of(layer)
        main = [pools.index(kind) for kind in pools if kind in {"swa", "kv", "c4", "c128"}]
        states = [pools.index(kind) for kind in pools if kind.endswith("_state")]
        assert max(main) < pools.index("index_k")
        assert all(pools.index("index_k") < state for state in states)


@pytest.mark.parametrize("name", preset_names())
def test_every_layer_of_a_pool_has_it(name: str) -> None:
    geometry = preset(name)
    assert geometry.name == name
    for kind in geometry.pool_kinds:
        layers = set(geometry.layers_with(kind))
        assert layers == {layer for layer in range(geometry.layer_count) if kind in geometry.pools_of(layer)}
        assert layers


def test_an_unknown_name_is_answered_with_the_known_ones() -> None:
    with pytest.raises(ConfigError, match=r"deepseek-v4-flsh.*did you mean 'deepseek-v4-flash'"):
        preset("deepseek-v4-flsh")
