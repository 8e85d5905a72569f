"""Every defect, one hand-written interleaving at a time, and beside it the twin without the defect.

Tiny has the layers 0 swa, 1 c4, 2 c128, 3 c4. `R` reads as far as it may, `L` loads.
"""

from __future__ import annotations

import pytest

from kernels.errors import ConfigError
from kernels.hicache.access import LayerAccess
from kernels.hicache.geometry import PoolKind
from kernels.hicache.variant import Variant, check_variant
from tests.hicache.scene import CORRECT, Scene, keys_of, with_load_queued

BARE = Variant(gate_index_k=False)
FUSED = Variant(gate_index_k=False, index_k_store="fused")

READ_FIRST = "R0 R1 R2 R3 | L0 L1 L2 L3 | R3"
LOAD_FIRST = "L0 L1 L2 L3 | R3"
ONE_BEHIND = "L0 R0 R1 | L1 R1 R2 | L2 R2 R3 | L3 R3"
"""The reader is always one layer ahead of the load, as far as its gates let it."""


def played(variant: Variant, interleaving: str) -> Scene:
    scene = Scene()
    lease, keys = with_load_queued(scene)
    done = scene.start(lease, keys, variant)
    scene.play(interleaving)
    scene.finish(lease, keys, done)
    return scene


def test_bare_index_k_is_read_stale_before_its_copy_lands() -> None:
    scene = played(BARE, ONE_BEHIND)
    assert scene.stale("index_k") == {1: 4, 3: 4}
    assert {kind for kind in scene.geometry.pool_kinds if scene.stale(kind)} == {"index_k"}


@pytest.mark.parametrize("interleaving", [READ_FIRST, LOAD_FIRST, ONE_BEHIND])
def test_gated_index_k_is_never_stale(interleaving: str) -> None:
    scene = played(CORRECT, interleaving)
    assert all(seen.stale_pages == seen.torn_pages == 0 for seen in scene.seen)
    assert {seen.kind for seen in scene.seen} == set(scene.geometry.pool_kinds)


@pytest.mark.parametrize("interleaving", [READ_FIRST, LOAD_FIRST, ONE_BEHIND])
def test_the_fused_store_masks_the_missing_gate(interleaving: str) -> None:
    assert played(FUSED, interleaving).stale("index_k") == {}


def test_a_bare_read_after_the_load_is_right() -> None:
    assert played(BARE, LOAD_FIRST).stale("index_k") == {}


def test_the_gate_of_the_layer_before_bounds_the_slip() -> None:
    """Layer 0's attention waits, so without any load layer 1 is not even reached."""
    scene = Scene()
    lease, keys = with_load_queued(scene)
    scene.start(lease, keys, BARE)
    scene.play("R0 R1 R2 R3")
    assert scene.seen == []
    scene.play("L0 | R1 R2 R3")
    assert scene.stale("index_k") == {1: 4}
    scene.settle()


def test_a_read_in_the_middle_of_a_copy_sees_a_torn_page() -> None:
    scene = played(BARE, "L0 L1~ | R1 | L3 R3")
    torn = [(seen.layer, seen.torn_pages) for seen in scene.seen if seen.torn_pages]
    assert torn == [(1, 1)]
    assert scene.stale("index_k") == {1: 4}


def test_stale_pages_hold_what_their_last_owner_left() -> None:
    """LIFO reuse: the load lands on the pages of the session that was just evicted."""
    scene = played(BARE, ONE_BEHIND)
    first = next(seen for seen in scene.seen if seen.kind == "index_k")
    others = {scene.key_of[int(version)] for version in first.versions}
    assert len(others) == 4
    assert others < set(keys_of(1, 8))


@pytest.mark.parametrize(("kind", "layers"), [("c4", {1, 3}), ("c128", {2}), ("swa", {0, 1, 2, 3})])
def test_any_pool_can_be_made_to_slip_alone(kind: PoolKind, layers: set[int]) -> None:
    scene = played(Variant(ungated=frozenset({kind})), ONE_BEHIND.replace("L0 R0", "R0 L0 R0"))
    assert set(scene.stale(kind)) == layers
    assert {other for other in scene.geometry.pool_kinds if scene.stale(other)} == {kind}


def test_an_early_index_k_read_slips_even_behind_the_fused_store() -> None:
    scene = played(Variant(ungated=frozenset({"index_k"}), index_k_store="fused"), ONE_BEHIND)
    assert scene.stale("index_k") == {1: 4, 3: 4}


def test_a_state_read_before_the_index_read_masks_the_missing_gate() -> None:
    """What the compressor's gated getter does in the real engine; here an engine would have to do it on purpose."""
    scene = Scene()
    lease, _ = with_load_queued(scene)
    scene.cache.set_consumer(scene.machine.run(scene.cache.start_loading()))
    access = LayerAccess(scene.geometry, scene.cache.ranks[0], BARE)
    forward = scene.forwards[0]
    before = len(forward.calls("wait"))
    assert access.read_index_k(forward, 1, lease.prefix_pages) is not None
    assert len(forward.calls("wait")) == before
    access.read_states(forward, 1, lease.prefix_pages[-1:])
    assert len(forward.calls("wait")) == before + 1
    scene.settle()


def test_all_pages_are_right_at_rest_whatever_was_read() -> None:
    scene = played(BARE, ONE_BEHIND)
    scene.settle()
    assert scene.cache.statistics.at_rest_mismatches == 0
    assert scene.cache.statistics.loads == 1


def test_each_rank_has_its_own_load_and_gate() -> None:
    """Rank 1's load is late: rank 0 reads fresh keys, rank 1 stale ones; with the gate both read fresh ones."""
    for variant, expected in ((BARE, {1: {1: 4, 3: 4}}), (CORRECT, {})):
        scene = Scene(rank_count=2)
        lease, keys = with_load_queued(scene)
        done = scene.start(lease, keys, variant)
        scene.play("L0 L1 L2 L3 R3 | l0 r0 r1 | l1 r1 r2 | l2 r2 r3 | l3 r3")
        stale: dict[int, dict[int, int]] = {}
        for seen in scene.seen:
            if seen.stale_pages:
                stale.setdefault(seen.rank, {})[seen.layer] = seen.stale_pages
        assert stale == expected
        scene.finish(lease, keys, done)


def test_unknown_switches_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"unknown pool 'c5'; allowed: swa"):
        check_variant(Variant(ungated=frozenset({"c5"})))  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="unknown index-K store"):
        check_variant(Variant(index_k_store="lazy"))  # type: ignore[arg-type]
