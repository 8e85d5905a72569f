"""Layouts, I/O paths and cache settings: what is refused, and what is changed but said."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from kernels.errors import ConfigError
from kernels.hicache.geometry import preset
from kernels.hicache.paths import Io, Layout, TransferPath, transfer_path
from kernels.hicache.sizing import PoolFormats
from kernels.hicache.spec import HiCacheSpec, check_spec
from kernels.substrate.virtual.copying import run_lengths

GOOD = HiCacheSpec(device_tokens=1024, host_tokens=2048)
TINY = preset("tiny")


@pytest.mark.parametrize(
    ("layout", "io", "becomes", "is_told"),
    [
        ("layer_first", "kernel", ("layer_first", "kernel"), False),
        ("layer_first", "direct", ("layer_first", "direct"), False),
        ("page_first", "kernel", ("page_first", "kernel"), False),
        ("page_first_direct", "direct", ("page_first_direct", "direct"), False),
        ("page_first_direct", "kernel", ("page_first_direct", "direct"), True),
        ("page_first", "direct", ("page_first_direct", "direct"), True),
    ],
)
def test_combinations_are_resolved_as_the_real_server_does(
    layout: Layout, io: Io, becomes: tuple[Layout, Io], is_told: bool
) -> None:
    path = transfer_path(layout, io)
    assert (path.layout, path.io) == becomes
    assert bool(path.notes) == is_told
    assert all(io in note or layout in note for note in path.notes)


def test_unknown_names_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"unknown host layout 'page_frist'.*did you mean 'page_first'"):
        transfer_path("page_frist", "kernel")
    with pytest.raises(ConfigError, match=r"unknown I/O path 'dma'; allowed: kernel, direct"):
        transfer_path("layer_first", "dma")


def test_page_first_direct_merges_no_pages() -> None:
    source, target = np.arange(6), np.array([3, 4, 5, 0, 1, 2])
    assert len(run_lengths(*TransferPath("layer_first", "direct").walk(source, target))) == 2
    walked = TransferPath("page_first_direct", "direct").walk(source, target)
    assert len(run_lengths(*walked)) == 6
    assert set(zip(*(pages.tolist() for pages in walked), strict=True)) == set(
        zip(source.tolist(), target.tolist(), strict=True)
    )


@pytest.mark.parametrize(
    ("spec", "complaint"),
    [
        (replace(GOOD, device_tokens=255), "device_tokens = 255 is less than one page of 256"),
        (replace(GOOD, device_tokens=-1), "device_tokens = -1"),
        (replace(GOOD, host_tokens=-256), "host_tokens = -256"),
        (replace(GOOD, host_tokens=10), "host_tokens = 10 is neither 0"),
        (replace(GOOD, load_back_threshold_tokens=-1), "load_back_threshold_tokens = -1 is negative"),
        (replace(GOOD, policy="write_trough"), "unknown policy.*mean 'write_through'"),  # type: ignore[arg-type]
        (replace(GOOD, reuse="random"), "unknown reuse 'random'"),  # type: ignore[arg-type]
        (replace(GOOD, formats=PoolFormats(index_k="fp16")), "unknown index_k 'fp16'"),  # type: ignore[arg-type]
    ],
)
def test_settings_no_cache_can_be_built_from_are_refused(spec: HiCacheSpec, complaint: str) -> None:
    with pytest.raises(ConfigError, match=complaint):
        check_spec(spec, TINY)


def test_sizes_are_cut_to_whole_pages() -> None:
    spec = HiCacheSpec(device_tokens=1023, host_tokens=2049)
    check_spec(spec, TINY)
    assert (spec.device_pages(TINY), spec.host_pages(TINY)) == (3, 8)
