"""Poison: what a misled forward writes stays wrong for everybody who reads it later, without a race of their own."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import pytest

from kernels.engine.shared import SharedModel
from kernels.hicache.sizing import IndexFormat
from kernels.hicache.variant import Variant
from tests.engine.pair.stage import BARE, GATED, PAGE, Asked, Stage
from tests.engine.pair.talks import Talk, Writer

INDEXED_FIRST = 2
LAYERS = 43


@dataclass(frozen=True)
class Scene:
    """A session whose history came back from the host, and which then wrote facts that hang on anchors in it.

    grown: its history with those facts. names: the facts'. writer: the request whose prefill wrote them.
    """

    stage: Stage
    pen: Writer
    grown: Talk
    names: tuple[str, ...]
    writer: Asked
    crowd: Talk

    def fork(self, name: str) -> Asked:
        """Another session goes on from this one's history, says something of its own, and asks."""
        return self.stage.ask(self.grown.told(self.pen.words(40)), name)


def scene(shared: SharedModel, variant: Variant, *, index_k: IndexFormat = "bf16", chunk_tokens: int = 16_384) -> Scene:
    """chunk_tokens: only for the prefill of `writer`."""
    stage = Stage(shared, variant=variant, index_k=index_k)
    pen = Writer(shared, 1)
    history, crowd = pen.talk(7_800, fact_count=4), pen.talk(7_800)
    grown, names = pen.anchored(history, history.names)
    for talk in (history, crowd):
        assert stage.ask(talk, talk.names[1]).is_right
    stage.set_chunk(chunk_tokens)
    writer = stage.ask(grown, history.names[1])
    assert stage.evidence(writer).host_hit_tokens == 7_800 // PAGE * PAGE
    return Scene(stage, pen, grown, names, writer, crowd)


def test_a_sharer_of_poisoned_pages_is_corrupted_without_a_stale_read(shared: SharedModel) -> None:
    bare, gated = scene(shared, BARE), scene(shared, GATED)
    assert bare.stage.evidence(bare.writer).stale_reads > 0
    for name in bare.names:
        victim, twin = bare.fork(name), gated.fork(name)
        evidence = bare.stage.evidence(victim)
        assert not victim.is_right, "its anchor was not known when the fact was written"
        assert (evidence.stale_reads, evidence.host_hit_tokens) == (0, 0), "it loaded nothing itself"
        assert evidence.poisoned_reads > 0
        assert twin.is_right, twin.decode.text
        clean = gated.stage.evidence(twin)
        assert (clean.stale_reads, clean.poisoned_reads) == (0, 0)


def test_what_does_not_hang_on_the_anchor_is_still_recalled(shared: SharedModel) -> None:
    """Poison is in the rows of one fact, not in the session: plain facts of the same history are right again."""
    bare = scene(shared, BARE)
    for name in bare.grown.names[:4]:
        sharer = bare.fork(name)
        assert sharer.is_right, sharer.decode.text
        assert bare.stage.evidence(sharer).poisoned_reads > 0, "it reads the poisoned pages, and does not need them"


def test_the_host_copy_keeps_the_poison(shared: SharedModel) -> None:
    bare = scene(shared, BARE)
    before = [bare.fork(name).decode.text for name in bare.names]
    poisoned_reads = bare.stage.evidence(bare.stage.asked[-1]).poisoned_reads
    bare.stage.set_gate(GATED)
    bare.stage.ask(bare.crowd, bare.crowd.names[0])
    loads_before = bare.stage.pair.counters()["load_backs"]
    victim = bare.fork(bare.names[0])
    evidence = bare.stage.evidence(victim)
    assert bare.stage.pair.counters()["load_backs"] == loads_before + 1
    assert evidence.host_hit_tokens >= bare.stage.evidence(bare.writer).host_hit_tokens
    assert (evidence.stale_reads, evidence.poisoned_reads) == (0, poisoned_reads)
    after = [victim.decode.text, *(bare.fork(name).decode.text for name in bare.names[1:])]
    for name, text, earlier in zip(bare.names, after, before, strict=True):
        assert text != bare.grown.facts[name]
        assert earlier != bare.grown.facts[name]


def test_layers_behind_the_first_wrong_one_are_poisoned_and_no_others(shared: SharedModel) -> None:
    """A layer knows the sum of the layers in front of it, and writes by what it knows."""
    bare = scene(shared, BARE)
    prompt = shared.reader.read(bare.writer.request.messages, ())
    poisoned: dict[int, set[int]] = {}
    for node in bare.stage.pair.cache.tree.nodes():
        depth = sum(len(step.key) for step in node.path()) - len(node.key)
        if node.device is None or node.key[0] not in prompt.page_keys:
            continue
        region = bare.stage.pair.cache.ranks[0].device["index_k"].region(INDEXED_FIRST, node.device.pages)
        versions = bare.stage.machine.landed(region)[0]
        for place, content in enumerate(bare.stage.pair.ledger.contents(versions), depth):
            poisoned[place] = set(content.variants)
    facts = [fact for fact in prompt.facts if fact.name.anchor is not None]
    of_facts = {page for fact in facts for page in range(fact.begin // PAGE, (fact.end - 1) // PAGE + 1)}
    assert len(facts) == 4
    assert {place for place, layers in poisoned.items() if layers} == of_facts
    for place in of_facts:
        # Every read was stale, the first indexed layer's too; that layer itself still wrote what it knew to be right.
        assert poisoned[place] == set(range(INDEXED_FIRST + 1, LAYERS))


def test_a_later_chunk_writes_right_again(shared: SharedModel) -> None:
    """Only the first chunk's reads were early: facts in a later chunk hang on anchors that are there by then."""
    whole, chunked = scene(shared, BARE), scene(shared, BARE, chunk_tokens=256)
    assert chunked.stage.evidence(chunked.writer).stale_reads == whole.stage.evidence(whole.writer).stale_reads > 0
    prompt = shared.reader.read(chunked.writer.request.messages, ())
    first_end = 7_800 // PAGE * PAGE + 256
    facts = [fact for fact in prompt.facts if fact.name.anchor is not None]
    outcome = {name: chunked.fork(name).is_right for name in chunked.names}
    expected = {name: fact.begin >= first_end for name, fact in zip(chunked.names, facts, strict=True)}
    assert outcome == expected
    assert set(outcome.values()) == {True, False}, "the border lies between the facts, or this shows nothing"


def test_poison_reaches_decode_through_the_hand_off(shared: SharedModel) -> None:
    """Prefill's first token alone would not garble a reply so: decode reads the same poisoned rows."""
    bare = scene(shared, BARE)
    ask = partial(bare.fork, bare.names[0])
    victim = ask()
    copied = [op for op in bare.stage.trace.operations if op.label == "decode.join r3"]
    assert len(copied) == 1
    pool = bare.stage.pair.decode._pools[0]["index_k"]
    pages = next(region.pages for _, region in copied[0].accesses if region.buffer is pool.buffer)
    versions = bare.stage.machine.landed(pool.region(INDEXED_FIRST, pages))[0]
    contents = bare.stage.pair.ledger.contents(versions)
    assert sum(len(content.variants) for content in contents) == bare.stage.evidence(victim).poisoned_reads > 0


@pytest.mark.parametrize("index_k", ["bf16", "fp8"])
def test_both_formats_are_poisoned_and_both_are_clean_behind_the_gate(
    shared: SharedModel, index_k: IndexFormat
) -> None:
    gated, bare = scene(shared, GATED, index_k=index_k), scene(shared, BARE, index_k=index_k)
    assert gated.stage.evidence(gated.writer).poisoned_reads == 0
    assert all(gated.fork(name).is_right for name in gated.names)
    assert bare.stage.evidence(bare.writer).poisoned_reads > 0
