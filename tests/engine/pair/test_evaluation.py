"""What the engine evaluates once for many layers, against every layer by itself from the bytes that it read."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from kernels.engine.recall.contexts import anchored_contexts
from kernels.engine.shared import SharedModel
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
    for turn in range(3):
        for talk, anchored in zip(talks, names, strict=True):
            stage.ask(talk, talk.names[turn])
            stage.ask(talk.told(pen.words(10)), anchored[turn % 2])
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
    assert len(raced_extends) >= 4
    assert any(extend.readings.stale and any(page.variants for page in extend.contents) for extend in seen) or (
        changes is SOME_TORN
    )
    for extend in raced_extends:
        assert extend.first_token == Unshared(shared, FLASH, stage.pair, extend).first_token()
    if changes is SOME_TORN:
        assert sum(stage.evidence(asked).torn_reads for asked in stage.asked) > 0
    else:
        assert not all(asked.is_right for asked in stage.asked)


@pytest.mark.parametrize("changes", [ALL_STALE, SOME_STALE])
def test_facts_are_written_by_what_each_layer_knew(shared: SharedModel, changes: dict[str, Any]) -> None:
    stage, seen = raced(shared, changes)
    builder = stage.pair.ledger.builder
    wrong_layers: set[int] = set()
    for extend in (extend for extend in seen if extend.readings.stale):
        unshared = Unshared(shared, FLASH, stage.pair, extend)
        prompt = extend.prompt
        for fact in prompt.facts:
            page = fact.begin // PAGE
            # Facts that an earlier forward wrote are its own matter; so is one across a border, for simplicity.
            if fact.name.anchor is None or page * PAGE < context_end(extend) or (fact.end - 1) // PAGE != page:
                continue
            begin, end = page * PAGE, min((page + 1) * PAGE, len(prompt.tokens))
            others = [
                other for other in prompt.facts if other.name.anchor and other is not fact and begin < other.end <= end
            ]
            body = prompt.tokens[fact.begin : fact.end]
            for layer in range(FLASH.layer_count):
                token = unshared.known_anchor(fact, layer)
                rows = extend.contents[page].for_layer(layer)
                contexts = prompt.contexts[begin:end].copy()
                if token is not None and token != fact.recalled:
                    wrong_layers.add(layer)
                    contexts[fact.begin - begin : fact.end - begin] = anchored_contexts(fact, body, token)
                (expected,) = builder.build(prompt.tokens[begin:end], contexts)
                part = slice(fact.begin - begin, fact.end - begin)
                assert np.array_equal(rows.tokens.signatures[part], expected.clean.tokens.signatures[part])
                if not others:
                    assert np.array_equal(rows.index_k.stored, expected.clean.index_k.stored)
                    assert np.array_equal(rows.tokens.stored, expected.clean.tokens.stored)
                    assert np.array_equal(rows.summary, expected.clean.summary)
    assert wrong_layers
    assert (len(wrong_layers) < 40) == (changes is SOME_STALE), "some layers knew better, or all were misled"


def context_end(extend: Seen) -> int:
    """Tokens in front of what this extend computed."""
    return (extend.context_span.stop - extend.context_span.start) * PAGE


def test_a_clean_pair_is_evaluated_alike(shared: SharedModel) -> None:
    stage, seen = raced(shared, {"variant": GATED})
    assert all(asked.is_right for asked in stage.asked)
    assert not any(extend.readings.stale for extend in seen)
    for extend in seen[::3]:
        assert extend.first_token == Unshared(shared, FLASH, stage.pair, extend).first_token()
