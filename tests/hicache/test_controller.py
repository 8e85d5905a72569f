"""The cache's rules, one request at a time; invariants are checked after every step by the scene."""

from __future__ import annotations

import pytest

from kernels.hicache.gate import NO_CONSUMER
from kernels.hicache.geometry import preset
from kernels.hicache.invariants import check
from kernels.hicache.spec import HiCacheSpec
from tests.hicache.scene import Scene, keys_of, with_load_queued

PAGE = 256


def test_a_prefix_on_the_device_is_used_again() -> None:
    scene = Scene()
    keys = keys_of(0, 4)
    scene.request(keys[:3])
    lease = scene.admit(keys)
    assert lease is not None
    assert lease.prefix_pages.tolist() == [0, 1, 2]
    assert len(lease.own_pages) == 1
    assert lease.loaded_pages == 0
    assert scene.machine.run(scene.cache.start_loading()) == NO_CONSUMER


def test_what_was_evicted_comes_back_from_the_host() -> None:
    scene = Scene()
    lease, keys = with_load_queued(scene)
    scene.finish(lease, keys, scene.start(lease, keys))
    statistics = scene.cache.statistics
    assert (statistics.load_backs, statistics.loaded_pages, statistics.host_hit_pages) == (1, 4, 4)
    read = {seen.layer: seen.versions.tolist() for seen in scene.seen if seen.kind == "index_k"}
    assert {layer: [scene.key_of[version] for version in versions] for layer, versions in read.items()} == {
        1: list(keys[:4]),
        3: list(keys[:4]),
    }


def test_without_a_host_tier_evicted_means_gone() -> None:
    scene = Scene(host_pages=0)
    keys = keys_of(0, 4)
    scene.request(keys)
    scene.request(keys_of(1, 8))
    lease = scene.admit(keys)
    assert lease is not None
    assert len(lease.prefix_pages) == 0
    assert scene.cache.statistics.backups == 0
    assert scene.cache.statistics.dropped_pages >= 4
    assert "prefill.r0.load" not in scene.machine.streams


def test_a_request_that_finds_no_room_leaves_nothing_behind() -> None:
    scene = Scene()
    holder = scene.admit(keys_of(0, 6))
    assert holder is not None
    assert scene.admit(keys_of(1, 4)) is None
    assert scene.cache.device.free_pages == 2
    scene.cache.release(holder)
    assert scene.admit(keys_of(1, 4)) is not None


def test_a_load_that_finds_no_room_shrinks_the_prefix_to_the_device_part() -> None:
    scene = Scene(device_pages=6)
    keys = keys_of(0, 4)
    scene.request(keys[:2])
    scene.request(keys)
    scene.settle()
    lower = scene.cache.match(keys).device_node
    assert len(lower.key) == 2
    holder = scene.admit(keys_of(1, 4))
    assert holder is not None
    lease = scene.cache.open(keys)
    assert (len(lease.match.device_pages), lease.match.host_hit_pages) == (2, 2)
    assert scene.machine.run(scene.cache.load_back(lease)) == 0
    check(scene.cache)
    assert lease.is_settled
    assert len(lease.prefix_pages) == 2
    assert scene.cache.statistics.loads_refused == 1
    assert lower.is_evicted


def test_a_hit_below_the_threshold_is_computed_again() -> None:
    scene = Scene(HiCacheSpec(8 * PAGE, 32 * PAGE, load_back_threshold_tokens=4 * PAGE + 1))
    keys = keys_of(0, 4)
    scene.request(keys)
    scene.settle()
    scene.request(keys_of(1, 8))
    scene.settle()
    lease = scene.admit(keys)
    assert lease is not None
    assert (lease.match.host_hit_pages, lease.loaded_pages, len(lease.own_pages)) == (4, 0, 4)


def test_reserve_before_load_back_is_refused() -> None:
    scene = Scene()
    lease, _ = with_load_queued(scene)
    scene.cache.release(lease)
    scene.settle()
    scene.machine.run(scene.cache.start_loading())
    scene.settle()
    scene.request(keys_of(2, 8))
    scene.settle()
    again = scene.cache.open(keys_of(0, 4))
    assert again.match.needs_load
    with pytest.raises(AssertionError, match="call load_back before reserve"):
        scene.machine.run(scene.cache.reserve(again, 1))
    with pytest.raises(AssertionError, match="call load_back before insert"):
        scene.cache.insert(again, keys_of(0, 4))


def test_a_released_request_leaves_its_load_to_the_next_batch() -> None:
    scene = Scene()
    lease, keys = with_load_queued(scene)
    scene.cache.release(lease)
    check(scene.cache)
    assert not scene.cache.is_idle
    assert scene.machine.run(scene.cache.start_loading()) == 0
    scene.settle()
    assert scene.cache.is_idle
    assert len(scene.cache.match(keys).device_pages) == 4


def test_pages_in_flight_cannot_be_evicted_on_either_tier() -> None:
    scene = Scene(host_pages=12)
    lease, _ = with_load_queued(scene)
    loaded = lease.match.host_node
    scene.machine.run(scene.cache.start_loading())
    scene.cache.release(lease)
    assert scene.admit(keys_of(2, 8)) is None, "four pages are locked by the load"
    assert loaded.host is not None
    assert loaded.host_ref == 1
    scene.settle()
    assert loaded.host_ref == loaded.lock_ref == 0
    assert scene.admit(keys_of(2, 8)) is not None


def test_a_page_is_not_freed_before_its_backup_has_ended() -> None:
    scene = Scene()
    scene.request(keys_of(0, 4))
    assert scene.cache.backups is not None
    assert not scene.cache.backups.is_idle
    assert scene.admit(keys_of(1, 8)) is None, "four pages are locked by the backup"
    scene.settle()
    assert scene.admit(keys_of(1, 8)) is not None


def test_two_requests_of_one_prefix_load_it_once() -> None:
    scene = Scene()
    lease, keys = with_load_queued(scene)
    second = scene.admit(keys[:4])
    assert second is not None
    assert second.prefix_pages.tolist() == lease.prefix_pages.tolist()
    assert scene.cache.statistics.load_backs == 1


def test_a_request_opened_before_anothers_load_back_shares_it() -> None:
    scene = Scene()
    lease, keys = with_load_queued(scene)
    scene.cache.release(lease)
    scene.machine.run(scene.cache.start_loading())
    scene.settle()
    scene.request(keys_of(2, 8))
    scene.settle()
    first, second = scene.cache.open(keys[:4]), scene.cache.open(keys[:4])
    assert scene.machine.run(scene.cache.load_back(first)) == 4
    assert scene.machine.run(scene.cache.load_back(second)) == 0
    check(scene.cache)
    assert second.prefix_pages.tolist() == first.prefix_pages.tolist()


def test_pages_computed_twice_are_freed() -> None:
    scene = Scene()
    keys = keys_of(0, 3)
    leases = [scene.admit(keys) for _ in range(2)]
    for lease in leases:
        assert lease is not None
        scene.finish(lease, keys, scene.start(lease, keys))
    assert scene.cache.statistics.duplicate_pages == 3
    assert scene.cache.device.free_pages == 5


def test_a_chunk_is_inserted_without_a_backup() -> None:
    scene = Scene()
    keys = keys_of(0, 4)
    lease = scene.cache.open(keys[:2])
    scene.machine.run(scene.cache.reserve(lease, 2))
    scene.cache.insert(lease, keys[:2], is_chunk=True)
    check(scene.cache)
    assert scene.cache.statistics.backups == 0
    assert (len(lease.prefix_pages), len(lease.own_pages)) == (2, 0)
    scene.machine.run(scene.cache.reserve(lease, 2))
    scene.cache.insert(lease, keys)
    check(scene.cache)
    assert scene.cache.statistics.backups == 2
    assert lease.node.lock_ref == 2, "the request's lock and the backup's"


def test_selective_write_through_waits_for_the_second_use() -> None:
    scene = Scene(HiCacheSpec(8 * PAGE, 32 * PAGE, policy="write_through_selective"))
    keys = keys_of(0, 3)
    scene.request(keys)
    assert scene.cache.statistics.backups == 0
    scene.request(keys)
    assert scene.cache.statistics.backups == 1


def test_write_back_copies_at_eviction_and_waits_for_it() -> None:
    scene = Scene(HiCacheSpec(8 * PAGE, 32 * PAGE, policy="write_back"))
    keys = keys_of(0, 4)
    scene.request(keys)
    assert scene.cache.statistics.backups == 0
    scene.request(keys_of(1, 8))
    assert scene.cache.statistics.backups == 1
    assert scene.cache.match(keys).host_hit_pages == 4
    lease = scene.admit(keys)
    assert lease is not None
    scene.seen.clear()
    scene.finish(lease, keys, scene.start(lease, keys))
    assert {scene.key_of[int(version)] for seen in scene.seen if seen.kind == "c4" for version in seen.versions} == set(
        keys
    )


def test_a_full_host_tier_evicts_its_oldest() -> None:
    scene = Scene(device_pages=4, host_pages=8)
    for session in range(3):
        scene.request(keys_of(session, 4))
        scene.settle()
    statistics = scene.cache.statistics
    assert (statistics.backups, statistics.evicted_host_pages, statistics.backups_refused) == (3, 4, 0)
    assert scene.cache.match(keys_of(0, 4)).keys == ()
    assert scene.cache.match(keys_of(1, 4)).host_hit_pages == 4


def test_a_host_tier_without_room_refuses_the_backup() -> None:
    scene = Scene(device_pages=8, host_pages=4)
    scene.request(keys_of(0, 3))
    scene.request(keys_of(1, 3))
    scene.settle()
    assert scene.cache.statistics.backups_refused == 1
    scene.request(keys_of(2, 8))
    assert scene.cache.match(keys_of(1, 3)).keys == ()
    assert scene.cache.match(keys_of(0, 3)).host_hit_pages == 3


def test_a_fork_inside_a_loaded_prefix_computes_the_missing_window() -> None:
    """Only the trailing page's window came back, so a prompt that leaves the prefix earlier cannot start there."""
    scene = Scene()
    lease, keys = with_load_queued(scene)
    scene.finish(lease, keys, scene.start(lease, keys))
    scene.settle()
    fork = (*keys[:3], 999)
    scene.seen.clear()
    branch = scene.admit(fork)
    assert branch is not None
    assert len(branch.prefix_pages) == 0, "no earlier page of this prefix has a window"
    scene.finish(branch, fork, scene.start(branch, fork))
    assert scene.cache.statistics.taken_over_pages == 3
    assert len(scene.cache.match((*keys[:3], 998)).device_pages) == 3, "the computed pages brought their windows"


def test_a_window_alone_is_loaded_for_a_page_that_is_on_the_device() -> None:
    scene = Scene(device_pages=6)
    keys = keys_of(0, 4)
    scene.request(keys[:2])
    scene.settle()
    scene.request(keys)
    scene.settle()
    scene.request(keys_of(1, 6))
    scene.settle()
    longer = scene.admit(keys)
    assert longer is not None
    assert longer.loaded_pages == 4
    scene.finish(longer, keys, scene.start(longer, keys))
    scene.settle()
    fork = (*keys[:2], 999)
    branch = scene.admit(fork)
    assert branch is not None
    assert (len(branch.prefix_pages), branch.loaded_pages) == (2, 0)
    assert scene.cache.statistics.window_loads == 1
    scene.seen.clear()
    scene.finish(branch, fork, scene.start(branch, fork))
    windows = [seen for seen in scene.seen if seen.kind == "swa"]
    assert len(windows) == 4
    assert all(scene.key_of[int(seen.versions[0])] == keys[1] for seen in windows)


def test_a_locked_page_without_a_window_keeps_the_newcomer_private() -> None:
    scene = Scene()
    lease, keys = with_load_queued(scene)
    done = scene.start(lease, keys)
    fork = keys[:3]
    branch = scene.admit(fork)
    assert branch is not None
    scene.machine.drain()
    insertion = scene.cache.insert(branch, fork)
    check(scene.cache)
    assert len(insertion.pages) == 2, "the third page is in use, and has no window to go on from"
    assert (len(branch.prefix_pages), len(branch.own_pages)) == (2, 1)
    scene.cache.release(branch)
    scene.finish(lease, keys, done)


def test_flush_refuses_while_something_is_held() -> None:
    scene = Scene()
    lease, keys = with_load_queued(scene)
    assert not scene.cache.flush()
    scene.finish(lease, keys, scene.start(lease, keys))
    assert not scene.cache.flush(), "the backup of the new page is in flight"
    scene.settle()
    assert scene.cache.flush()
    check(scene.cache)
    assert scene.cache.match(keys).keys == ()
    assert scene.cache.device.free_list.tolist() == list(range(8))


def test_dsa_has_no_windows_to_lose() -> None:
    geometry = preset("dsa")
    scene = Scene(HiCacheSpec(8 * 64, 32 * 64), geometry=geometry)
    lease, keys = with_load_queued(scene)
    scene.finish(lease, keys, scene.start(lease, keys))
    scene.settle()
    assert len(scene.cache.match(keys[:2]).device_pages) == 2
    assert {seen.kind for seen in scene.seen} == {"kv", "index_k"}


def test_ranks_share_the_bookkeeping_and_nothing_else() -> None:
    scene = Scene(rank_count=2)
    lease, keys = with_load_queued(scene)
    operation = scene.machine.run(scene.cache.merge_loads())
    assert operation is not None
    scene.cache.issue_load(operation, 0)
    scene.cache.issue_load(operation, 1)
    scene.cache.set_consumer(operation.slot)
    assert [rank.gate.consumer for rank in scene.cache.ranks] == [0, 0]
    streams = [scene.machine.streams[f"prefill.r{rank}.load"] for rank in range(2)]
    targets = [{id(call.target.buffer) for call in stream.calls("copy") if call.target} for stream in streams]
    assert not targets[0] & targets[1]
    while scene.schedules[0].step() or streams[0].step():
        pass
    assert scene.machine.run(scene.cache.poll()) == 0, "rank 1's load is still in flight"
    scene.cache.release(lease)
    scene.settle()
    assert scene.cache.is_idle
    assert len(scene.cache.match(keys).device_pages) == 4
