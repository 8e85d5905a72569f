"""What a load and a backup enqueue: order, points, labels, layers, bytes."""

from __future__ import annotations

import numpy as np
import pytest

from kernels.hicache.geometry import preset, preset_names
from kernels.hicache.paths import TransferPath
from kernels.hicache.spec import HiCacheSpec
from kernels.hicache.transfers import PageMoves, at_rest_mismatches, delay_points, issue_load, merged
from tests.hicache.fake_machine import FakeBuffer, buffer_of
from tests.hicache.scene import TINY, Scene, with_load_queued

KERNEL = TransferPath("layer_first", "kernel")


def load_calls(scene: Scene) -> list[tuple[str, str]]:
    return [(issued.call, issued.label) for issued in scene.machine.streams["prefill.r0.load"].issued]


def test_a_load_copies_layer_by_layer_with_one_event_each() -> None:
    scene = Scene()
    with_load_queued(scene)
    scene.machine.run(scene.cache.start_loading())
    assert load_calls(scene) == [
        ("wait", "prefill.r0.ring.start[0]"),
        ("copy", "swa[layer 0]"),
        ("record", "prefill.r0.ring[0].layer[0]"),
        ("copy", "swa[layer 1]"),
        ("copy", "c4[layer 1]"),
        ("copy", "index_k[layer 1]"),
        ("copy", "c4_state[layer 1]"),
        ("copy", "index_state[layer 1]"),
        ("record", "prefill.r0.ring[0].layer[1]"),
        ("copy", "swa[layer 2]"),
        ("copy", "c128[layer 2]"),
        ("copy", "c128_state[layer 2]"),
        ("record", "prefill.r0.ring[0].layer[2]"),
        ("copy", "swa[layer 3]"),
        ("copy", "c4[layer 3]"),
        ("copy", "index_k[layer 3]"),
        ("copy", "c4_state[layer 3]"),
        ("copy", "index_state[layer 3]"),
        ("record", "prefill.r0.ring[0].layer[3]"),
    ]


def test_window_and_states_move_with_the_trailing_page_only() -> None:
    scene = Scene()
    lease, _ = with_load_queued(scene)
    scene.machine.run(scene.cache.start_loading())
    for issued in scene.machine.streams["prefill.r0.load"].calls("copy"):
        assert issued.target is not None
        expected = lease.prefix_pages
        if issued.label.startswith("swa") or "state" in issued.label:
            expected = expected[-1:]
        assert issued.target.pages.tolist() == expected.tolist()
        assert f"[layer {issued.layer}]" in issued.label
        assert issued.point == "h2d." + ("state" if "state" in issued.label else issued.label.split("[")[0])


def test_loaded_bytes_are_those_of_the_pools() -> None:
    scene = Scene()
    with_load_queued(scene)
    scene.machine.run(scene.cache.start_loading())
    c4_layers = 2 * (4 * (37_440 + 16_384) + 149_760 + 8 * 8_192 + 8 * 2_048)
    c128_layer = 4 * 1_728 + 149_760 + 128 * 4_096
    assert scene.cache.statistics.loaded_bytes == c4_layers + c128_layer + 149_760


def test_a_backup_copies_each_pool_once_over_all_its_layers() -> None:
    scene = Scene()
    keys = (11, 12, 13)
    scene.request(keys)
    copies = scene.machine.streams["prefill.r0.backup"].calls("copy")
    assert [issued.label.split("[")[0] for issued in copies] == list(TINY.pool_kinds)
    assert {issued.point for issued in copies} == {"d2h.backup"}
    for issued in copies:
        assert issued.source is not None
        assert len(issued.source.layers) == len(TINY.layers_with(issued.label.split("[")[0]))  # type: ignore[arg-type]
    assert scene.cache.statistics.backed_up_bytes == sum(
        issued.source.byte_count for issued in copies if issued.source is not None
    )


def test_a_transfer_starts_behind_the_schedule_stream() -> None:
    scene = Scene()
    with_load_queued(scene)
    scene.schedules[0].launch("something before", duration_ns=1, point="compute.layer")
    scene.machine.run(scene.cache.start_loading())
    load = scene.machine.streams["prefill.r0.load"]
    assert not load.step(), "the load must not start before the work that was there first"
    scene.schedules[0].step()
    assert not load.step()
    scene.schedules[0].step()
    assert load.step()


def test_queued_loads_are_merged_into_one_producer() -> None:
    scene = Scene(device_pages=6)
    for session in (1, 2):
        scene.request((session * 100, session * 100 + 1))
        scene.settle()
    scene.request(tuple(range(1, 7)))
    scene.settle()
    leases = [scene.admit((session * 100, session * 100 + 1)) for session in (1, 2)]
    assert all(lease is not None and lease.loaded_pages == 2 for lease in leases)
    consumer = scene.machine.run(scene.cache.start_loading())
    assert consumer == 0
    assert scene.machine.run(scene.cache.start_loading()) == -1, "nothing is left to load"
    statistics = scene.cache.statistics
    assert (statistics.load_backs, statistics.loads, statistics.loaded_pages) == (2, 1, 4)
    copies = scene.machine.streams["prefill.r0.load"].calls("copy")
    assert [len(issued.target.pages) for issued in copies if issued.target is not None][:3] == [2, 2, 4]


def test_at_rest_a_forgotten_pool_is_seen() -> None:
    """The check that tells a static copy bug from a race, given one: a page of one layer that never moved."""
    scene = Scene()
    lease, _ = with_load_queued(scene)
    scene.machine.run(scene.cache.start_loading())
    scene.machine.drain()
    buffer = scene.cache.ranks[0].device["c4"].buffer
    assert isinstance(buffer, FakeBuffer)
    buffer.head[1, lease.prefix_pages[2]] = buffer.tail[1, lease.prefix_pages[2]] = 99
    scene.machine.run(scene.cache.poll())
    assert scene.cache.statistics.at_rest_mismatches == 1


def test_at_rest_a_load_in_flight_differs_and_a_finished_one_does_not() -> None:
    scene = Scene()
    with_load_queued(scene)
    rank = scene.cache.ranks[0]
    assert rank.host is not None
    moves = PageMoves(np.array([0, 1]), np.array([2, 3]), np.array([1]), np.array([3]))
    for pool in rank.host.pools:
        buffer = buffer_of(pool.all_layers(moves.host))
        buffer.wanted[:] = buffer.head[:] = buffer.tail[:] = 7
    issue_load(rank, TINY, moves, KERNEL, slot=1)
    assert at_rest_mismatches(scene.machine, rank, TINY, moves) > 0
    scene.machine.drain()
    assert at_rest_mismatches(scene.machine, rank, TINY, moves) == 0


def test_moves_keep_their_order_when_merged() -> None:
    first = PageMoves(np.array([1]), np.array([2]), np.array([1]), np.array([2]))
    second = PageMoves(np.array([5, 4]), np.array([8, 9]))
    both = merged([first, second])
    assert both.of("c4")[0].tolist() == [1, 5, 4]
    assert both.of("index_k")[1].tolist() == [2, 8, 9]
    assert both.of("swa")[0].tolist() == [1]


@pytest.mark.parametrize("name", preset_names())
def test_every_copy_has_a_declared_delay_point(name: str) -> None:
    points = delay_points(preset(name))
    assert len(set(points)) == len(points)
    assert "h2d.index_k" in points
    assert points[-1] == "d2h.backup"


def test_the_direct_path_is_used_when_it_is_asked_for() -> None:
    spec = HiCacheSpec(8 * 256, 32 * 256, path=TransferPath("page_first_direct", "direct"))
    scene = Scene(spec)
    with_load_queued(scene)
    scene.machine.run(scene.cache.start_loading())
    for issued in scene.machine.streams["prefill.r0.load"].calls("copy"):
        assert issued.target is not None
        assert issued.io == "direct"
        assert np.all(np.diff(issued.target.pages) < 0), "no two pages of one layer are adjacent in page-first memory"
