"""What the engine evaluates once for many layers, against every layer by itself from the bytes that it read."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from kernels.engine.recall.contexts import anchored_contexts
from kernels.engine.shared import SharedModel
from kernels.hicache.geometry import PoolKind
from kernels.hicache.variant import Variant
from tests.engine.pair.stage import BARE, FLASH, GATED, LATE, PAGE, Stage
from tests.engine.pair.talks import Writer
from tests.engine.pair.unshared import Seen, Unshared, capture

ALL_STALE: dict[str, Any] = {"delays": (LATE,)}
SOME_STALE: dict[str, Any] = {"delays": (), "layer_us": 60.0, "jitter": 0.3}
SOME_TORN: dict[str, Any] = {"delays": (), "layer_us": 105.0, "jitter": 0.3}


def raced(shared: SharedModel, changes: dict[str, Any]) -> tuple[Stage, list[Seen]]:
    """Two sessions that push each other out, with anchored facts, so that raced reads meet poisoned pages too."""
    stage = Stage(shared, **{"variant": BARE, **changes})
    seen = capture(stage)
    pen = Writer(shared, 8)
    talks = [pen.talk(7_000, fact_count=4) for _ in range(2)]
    names: list[tuple[str, ...]] = [(), ()]
    for number, talk in enumerate(talks):
        stage.ask(talk, talk.names[0])
        talks[number], names[number] = pen.anchored(talk, talk.names[:2])
    for turn in range(2):
        for talk, anchored in zip(talks, names, strict=True):
            stage.ask(talk, talk.names[turn])
            stage.ask(talk.told(pen.words(10)), anchored[turn])
    return stage, seen


@pytest.mark.parametrize(
    ("changes", "index_k"),
    [(ALL_STALE, "bf16"), (SOME_STALE, "bf16"), (SOME_STALE, "fp8"), (SOME_TORN, "bf16"), (SOME_TORN, "fp8")],
)
def test_first_tokens_are_those_of_every_layer_by_itself(
    shared: SharedModel, changes: dict[str, Any], index_k: str
) -> None:
    stage, seen = raced(shared, {**changes, "index_k": index_k})
    raced_extends = [extend for extend in seen if extend.readings.stale]
    assert len(raced_extends) >= 3
    # Every other one is enough: the long way takes its time.
    for extend in raced_extends[::2]:
        assert extend.first_token == Unshared(shared, FLASH, stage.pair, extend).first_token()
    if changes is SOME_TORN:
        assert sum(stage.evidence(asked).torn_reads for asked in stage.asked) > 0
    else:
        assert not all(asked.is_right for asked in stage.asked)
        assert any(page.variants for extend in raced_extends for page in extend.contents), "poison and race at once"


@pytest.mark.parametrize("changes", [ALL_STALE, SOME_STALE])
def test_facts_are_written_by_what_each_layer_knew(shared: SharedModel, changes: dict[str, Any]) -> None:
    stage = Stage(shared, **{"variant": BARE, **changes})
    seen = capture(stage)
    pen = Writer(shared, 9)
    talks = [pen.talk(7_000) for _ in range(2)]
    for talk in talks:
        stage.ask(talk, talk.names[0])
    for talk in talks:
        grown, _ = pen.anchored(talk, talk.names[1:2])
        stage.ask(grown, talk.names[0])
    wrong_layers = [misled_layers(shared, stage, extend) for extend in seen[2:]]
    behind_the_first = set(range(3, FLASH.layer_count))
    if changes is ALL_STALE:
        assert behind_the_first in wrong_layers
        assert all(wrong in (behind_the_first, set()) for wrong in wrong_layers), "all read alike, and knew alike"
    else:
        assert any(behind_the_first > wrong > set() for wrong in wrong_layers), "the first layers knew better"


def misled_layers(shared: SharedModel, stage: Stage, extend: Seen) -> set[int]:
    """The layers that did not know the anchor of the one anchored fact that this extend wrote, after checking that
    each layer's rows of its page are those that follow from what the layer knew."""
    prompt = extend.prompt
    (fact,) = [fact for fact in prompt.facts if fact.name.anchor is not None]
    page = fact.begin // PAGE
    assert (fact.end - 1) // PAGE == page, "it lies in one page, which keeps this simple"
    begin, end = page * PAGE, (page + 1) * PAGE
    known = Unshared(shared, FLASH, stage.pair, extend).known_anchors(fact)
    for layer in range(FLASH.layer_count):
        contexts = prompt.contexts[begin:end].copy()
        if layer in known:
            body = prompt.tokens[fact.begin : fact.end]
            contexts[fact.begin - begin : fact.end - begin] = anchored_contexts(fact, body, known[layer])
        (expected,) = stage.pair.ledger.builder.build(prompt.tokens[begin:end], contexts)
        rows = extend.contents[page].for_layer(layer)
        assert np.array_equal(rows.index_k.stored, expected.clean.index_k.stored)
        assert np.array_equal(rows.tokens.stored, expected.clean.tokens.stored)
        assert np.array_equal(rows.summary, expected.clean.summary)
    return {layer for layer, token in known.items() if token != fact.recalled}


def test_a_clean_pair_is_evaluated_alike(shared: SharedModel) -> None:
    stage, seen = raced(shared, {"variant": GATED})
    assert all(asked.is_right for asked in stage.asked)
    assert not any(extend.readings.stale for extend in seen)
    for extend in seen[-2:]:
        assert extend.first_token == Unshared(shared, FLASH, stage.pair, extend).first_token()


@pytest.mark.parametrize("pool", ["index_k", "c4", "c128", "swa"])
def test_any_pool_may_be_read_early_and_only_that_one_is(shared: SharedModel, pool: PoolKind) -> None:
    """The ablation's slip: the named pool is read at the start of its layer, while its copies come late."""
    variant = Variant(ungated=frozenset({pool}))
    stage, seen = raced(shared, {"variant": variant, "delays": (f"h2d.{pool}=constant:2ms",)})
    raced_extends = [extend for extend in seen if extend.readings.stale]
    assert len(raced_extends) >= 3
    for extend in raced_extends:
        assert {kind for kind, _ in extend.readings.stale} == {pool}
    for extend in raced_extends[:2]:
        assert extend.first_token == Unshared(shared, FLASH, stage.pair, extend).first_token()
    assert {kind for asked in stage.asked for kind, _ in stage.evidence(asked).stale_layers} == {pool}
    assert sum(stage.evidence(asked).stale_reads for asked in stage.asked) == sum(
        int(row.view.stale.sum()) for row in stage.trace.stale_rows
    )
