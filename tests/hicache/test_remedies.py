"""Remedies on hand-written interleavings: who waits where, and what each of them lets slip.

Owns: `remedy`, and what access, gate and transfers do with one. Floor: tests. Tiny has the layers 0 swa, 1 c4, 2 c128,
3 c4; `R` reads as far as it may, `L` loads (tests/hicache/scene.py).
"""

from __future__ import annotations

from typing import get_args

import pytest

from kernels.errors import ConfigError
from kernels.hicache.access import LayerAccess
from kernels.hicache.remedy import REMEDIES, RemedyName
from kernels.hicache.spec import HiCacheSpec, check_spec
from kernels.hicache.variant import Variant
from tests.hicache.scene import TINY, Scene, with_load_queued

BARE = Variant(gate_index_k=False)
ONE_BEHIND = "L0 R0 R1 | L1 R1 R2 | L2 R2 R3 | L3 R3"
STREAM_GATES = ("one_read_path", "event_per_pool", "index_k_first_own_event", "ring_of_one")
NO_GATES = ("none", "index_k_first", "gate_layer_before", "gate_another_stream")


def scene_with(remedy: RemedyName) -> Scene:
    tokens = 8 * TINY.page_tokens
    return Scene(HiCacheSpec(tokens, 4 * tokens, remedy=remedy))


def played(remedy: RemedyName, variant: Variant = BARE, interleaving: str = ONE_BEHIND) -> Scene:
    scene = scene_with(remedy)
    lease, keys = with_load_queued(scene, BARE)
    done = scene.start(lease, keys, variant)
    scene.play(interleaving)
    scene.finish(lease, keys, done)
    return scene


def load_labels(scene: Scene) -> list[str]:
    """What stands on the load stream, in order."""
    tier = scene.cache.ranks[0].host
    assert tier is not None
    return [call.label for call in tier.load.calls("copy")]  # type: ignore[attr-defined]


def test_every_name_has_a_remedy() -> None:
    assert set(REMEDIES) == set(get_args(RemedyName))


@pytest.mark.parametrize("remedy", STREAM_GATES)
def test_a_gate_in_front_of_the_read_lets_nothing_slip(remedy: RemedyName) -> None:
    assert played(remedy).stale("index_k") == {}


@pytest.mark.parametrize("remedy", NO_GATES)
def test_what_does_not_cover_the_read_lets_both_layers_slip(remedy: RemedyName) -> None:
    scene = played(remedy, interleaving="L0 R0 R1 | R1 | L1 R1 R2 | L2 R2 R3 | R3 | L3 R3")
    assert scene.stale("index_k") == {1: 4, 3: 4}


def test_a_record_in_front_of_the_copy_lets_the_reader_into_it() -> None:
    into_the_copy = "L0 R0 | L1~ R1 | L3 R3"
    assert played("record_before_the_copy", interleaving=into_the_copy).stale("index_k") == {1: 4}
    assert played("event_per_pool", interleaving=into_the_copy).stale("index_k") == {}


def test_only_the_one_read_path_covers_a_pool_that_is_read_early() -> None:
    early = Variant(gate_index_k=False, ungated=frozenset({"swa"}))
    interleaving = "R0 L0 R0 R1 | L1 R1 R2 | L2 R2 R3 | L3 R3"
    assert set(played("event_per_pool", early, interleaving).stale("swa")) == {0, 1, 2, 3}
    assert played("one_read_path", early, interleaving).stale("swa") == {}


def test_index_k_can_be_loaded_first_in_its_layer() -> None:
    def order(remedy: RemedyName) -> list[str]:
        scene = scene_with(remedy)
        with_load_queued(scene, BARE)
        scene.machine.run(scene.cache.start_loading())
        return [label for label in load_labels(scene) if "[layer 1]" in label]

    usual = order("none")
    assert usual.index("index_k[layer 1]") > 0
    assert order("index_k_first") == ["index_k[layer 1]", *(label for label in usual if "index_k[" not in label)]


def test_a_ring_of_one_holds_one_load() -> None:
    scene = scene_with("ring_of_one")
    ring = scene.cache.ranks[0].ring
    stream = scene.machine.stream("loads", device=0)
    for expected_waits in (0, 1, 2):
        slot = scene.machine.run(ring.claim())
        assert (slot, ring.waits) == (0, expected_waits)
        for layer in range(ring.layer_count):
            stream.record(ring.layer_event(slot, layer))


def test_a_remedy_beside_the_gate_itself_is_refused() -> None:
    scene = scene_with("event_per_pool")
    with pytest.raises(ConfigError, match="set gate_index_k = false"):
        LayerAccess(TINY, scene.cache.ranks[0], Variant(gate_index_k=True))


def test_an_unknown_remedy_is_refused_with_those_there_are() -> None:
    with pytest.raises(ConfigError, match="unknown remedy 'prayer'; allowed: none, one_read_path"):
        check_spec(HiCacheSpec(1024, 2048, remedy="prayer"), TINY)  # type: ignore[arg-type]
