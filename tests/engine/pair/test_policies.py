"""Every way of moving pages: clean behind the gate, and open to the race without it."""

from __future__ import annotations

import pytest

from kernels.engine.shared import SharedModel
from kernels.hicache.allocator import Reuse
from kernels.hicache.paths import transfer_path
from kernels.hicache.spec import WritePolicy
from kernels.hicache.variant import Variant
from tests.engine.pair.stage import BARE, GATED, Asked, Stage
from tests.engine.pair.talks import Writer

WAYS: list[tuple[WritePolicy, str, str]] = [
    ("write_through", "layer_first", "kernel"),
    ("write_through_selective", "layer_first", "kernel"),
    ("write_back", "layer_first", "kernel"),
    ("write_through", "layer_first", "direct"),
    ("write_through", "page_first", "kernel"),
    ("write_through", "page_first_direct", "direct"),
    ("write_back", "page_first_direct", "direct"),
]


def two_turns(stage: Stage, shared: SharedModel) -> list[Asked]:
    """Three sessions use their histories twice, which is enough for every policy, and come back after the others."""
    writer = Writer(shared, 51)
    talks = [writer.talk(7_000) for _ in range(3)]
    for talk in talks:
        for name in talk.names[:2]:
            assert stage.ask(talk, name).is_right
    return [stage.ask(talk, talk.names[2]) for talk in talks]


@pytest.mark.parametrize("variant", [GATED, BARE])
@pytest.mark.parametrize(("policy", "layout", "io"), WAYS)
def test_every_way_is_clean_behind_the_gate_and_only_there(
    shared: SharedModel, policy: WritePolicy, layout: str, io: str, variant: Variant
) -> None:
    stage = Stage(shared, variant=variant, policy=policy, path=transfer_path(layout, io))
    asked = two_turns(stage, shared)
    assert stage.pair.counters()["load_backs"] == 3
    assert stage.pair.counters()["dropped_pages"] == 0
    stale = [stage.evidence(one).stale_reads for one in asked]
    if variant is BARE:
        assert all(stale)
    else:
        assert stale == [0, 0, 0]
        assert all(one.is_right for one in asked)


@pytest.mark.parametrize("reuse", ["lifo", "sorted", "fifo"])
def test_the_order_of_reuse_decides_what_a_stale_page_holds_but_not_that_it_is_stale(
    shared: SharedModel, reuse: Reuse
) -> None:
    stage = Stage(shared, variant=BARE)
    stage.pair.cache.device.reuse = reuse
    asked = two_turns(stage, shared)
    assert [stage.evidence(one).stale_reads for one in asked] == [21 * (7_000 // 256)] * 3


def test_a_small_host_tier_forgets_and_is_clean(shared: SharedModel) -> None:
    """It holds one and a half histories, so that some are loaded and some computed again."""
    stage = Stage(shared, variant=GATED, host_pages=45)
    asked = two_turns(stage, shared)
    assert all(one.is_right for one in asked)
    assert stage.pair.counters()["evicted_host_pages"] > 0
