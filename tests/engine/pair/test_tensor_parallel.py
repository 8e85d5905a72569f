"""Several ranks: each moves its own copy of the cache, they keep step layer by layer, and the worst one decides."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pytest

from kernels.engine.shared import SharedModel
from kernels.hicache.variant import Variant
from kernels.substrate.trace import Operation
from tests.engine.pair.stage import BARE, FLASH, GATED, PAGE, Asked, Stage
from tests.engine.pair.talks import Writer

TOKENS = 7_800


def again(stage: Stage, shared: SharedModel) -> Asked:
    """A session's second turn, after another session has pushed its history out."""
    writer = Writer(shared, 1)
    talks = [writer.talk(TOKENS) for _ in range(2)]
    for talk in talks:
        assert stage.ask(talk, talk.names[0]).is_right
    return stage.ask(talks[0], talks[0].names[1])


def kernels_by_layer(stage: Stage, forward: int) -> list[dict[int, list[Operation]]]:
    """Kernels of one forward: by layer, then by rank, each rank's in order."""
    layers: list[dict[int, list[Operation]]] = [defaultdict(list) for _ in range(FLASH.layer_count)]
    for rank in range(stage.setting.tp):
        count = 0
        for operation in stage.trace.operations:
            if operation.kind != "kernel" or operation.stream != f"prefill.r{rank}.forward":
                continue
            count += operation.label == "project[layer 0]"
            if count == forward + 1:
                assert operation.layer is not None
                layers[operation.layer][rank].append(operation)
    return layers


@pytest.mark.parametrize("variant", [GATED, BARE])
@pytest.mark.parametrize("tp", [2, 3])
def test_ranks_keep_step(shared: SharedModel, tp: int, variant: Variant) -> None:
    """No rank begins a layer before all have ended the one before, and none waits for anything else."""
    stage = Stage(shared, variant=variant, tp=tp, jitter=0.3)
    again(stage, shared)
    for forward in range(3):
        layers = kernels_by_layer(stage, forward)
        for before, after in pairwise(layers):
            assert set(before) == set(after) == set(range(tp))
            all_ended_ns = max(operations[-1].end_ns for operations in before.values())
            for operations in after.values():
                first = operations[0]
                assert first.start_ns == max(all_ended_ns, first.issue_ns)


def test_every_rank_loads_its_own_copy(shared: SharedModel) -> None:
    one, two = Stage(shared, variant=GATED, tp=1), Stage(shared, variant=GATED, tp=2)
    assert again(one, shared).is_right
    assert again(two, shared).is_right
    assert two.pair.counters()["loaded_bytes"] == 2 * one.pair.counters()["loaded_bytes"] > 0
    assert two.pair.counters()["handoff_bytes"] == 2 * one.pair.counters()["handoff_bytes"]
    copies = [
        [op for op in two.trace.operations if op.kind == "copy" and op.stream == f"prefill.r{rank}.load"]
        for rank in range(2)
    ]
    for first, second in zip(*copies, strict=True):
        assert (first.label, first.point) == (second.label, second.point)
        for (_, region), (_, twin) in zip(first.accesses, second.accesses, strict=True):
            assert np.array_equal(region.pages, twin.pages)
            assert region.buffer is not twin.buffer


def variant_by_rank(stage: Stage, variants: Sequence[Variant]) -> None:
    for forward, variant in zip(stage.pair.prefill._forwards, variants, strict=True):
        forward._access.variant = variant


@pytest.mark.parametrize("late_rank", [0, 1, 2])
def test_one_rank_that_reads_early_is_enough(shared: SharedModel, late_rank: int) -> None:
    stage = Stage(shared, variant=GATED, tp=3)
    variant_by_rank(stage, [BARE if rank == late_rank else GATED for rank in range(3)])
    asked = again(stage, shared)
    evidence = stage.evidence(asked)
    assert not asked.is_right
    assert {row.operation.stream for row in stage.trace.stale_rows} == {f"prefill.r{late_rank}.forward"}
    assert evidence.stale_reads == 21 * (TOKENS // PAGE)


def test_ranks_are_late_by_different_amounts_and_all_count(shared: SharedModel) -> None:
    stage = Stage(shared, variant=BARE, tp=2, delays=("h2d.index_k=exponential:100us",), layer_us=150.0, seed=6)
    asked = again(stage, shared)
    by_rank: dict[str, dict[int, int]] = defaultdict(dict)
    for operation, _, view in stage.trace.stale_rows:
        assert operation.layer is not None
        by_rank[operation.stream][operation.layer] = int(view.stale.sum())
    first, second = (by_rank[f"prefill.r{rank}.forward"] for rank in range(2))
    assert set(first) - set(second), "some layer was late on the first rank only, or this shows nothing"
    assert set(second) - set(first), "some layer was late on the second rank only, or this shows nothing"
    evidence = stage.evidence(asked)
    assert evidence.stale_reads == sum(first.values()) + sum(second.values())
    assert {layer for _, layer in evidence.stale_layers} == {*first, *second}


def test_the_worst_rank_of_each_layer_is_what_counts(shared: SharedModel) -> None:
    """Neither rank alone, but both together, leave no layer that knew: what is evaluated must be their union."""
    tokens: dict[tuple[Variant, ...], bytes] = {}
    for variants in ((BARE, GATED), (GATED, BARE), (BARE, BARE)):
        stage = Stage(shared, variant=GATED, tp=2, jitter=0.0)
        variant_by_rank(stage, variants)
        tokens[variants] = b"".join(again(stage, shared).prefill.pieces)
    assert tokens[BARE, GATED] == tokens[GATED, BARE], "which rank it was makes no difference"


@pytest.mark.parametrize("variant", [GATED, BARE])
def test_two_ranks_are_as_deterministic_as_one(shared: SharedModel, variant: Variant) -> None:
    runs = []
    for seed in (5, 5, 6):
        stage = Stage(shared, variant=variant, tp=2, seed=seed)
        asked = again(stage, shared)
        runs.append((stage.digest, asked.decode.text, asked.decode.times_ns))
        assert asked.is_right == (variant is GATED)
    assert runs[0] == runs[1]
    assert runs[0][0] != runs[2][0]
