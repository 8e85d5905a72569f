"""The incident on a whole pair: who recalls wrongly, who does not, and what a static copy bug looks like instead."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kernels.engine.shared import SharedModel
from kernels.hicache.geometry import Geometry, preset
from kernels.hicache.paths import TransferPath
from kernels.hicache.ranks import Rank
from kernels.hicache.sizing import IndexFormat
from kernels.hicache.transfers import PageMoves, issue_load
from tests.engine.pair.stage import BARE, FLASH, GATED, MASKED, PAGE, Asked, Stage
from tests.engine.pair.talks import Writer

TOKENS = 7_800
LOADED = TOKENS // PAGE * PAGE


def three_sessions(stage: Stage, shared: SharedModel, token_count: int = TOKENS) -> list[Asked]:
    """Three conversations in turn, twice: the pool holds one and a half, so each second turn comes from the host."""
    writer = Writer(shared, 1)
    talks = [writer.talk(token_count) for _ in range(3)]
    first = [stage.ask(talk, talk.names[0]) for talk in talks]
    assert all(asked.is_right for asked in first), "nothing was loaded yet"
    return [stage.ask(talk.answered(talk.names[0]), talk.names[1]) for talk in talks]


def test_a_bare_index_read_garbles_replies(shared: SharedModel) -> None:
    stage = Stage(shared, variant=BARE)
    again = three_sessions(stage, shared)
    assert sum(not asked.is_right for asked in again) >= 2
    for asked in again:
        evidence = stage.evidence(asked)
        assert evidence.host_hit_tokens == LOADED
        assert evidence.stale_reads == 21 * LOADED // PAGE, "no layer waited, and every copy came late"
    assert stage.pair.counters()["load_backs"] == 3


@pytest.mark.parametrize("index_k", ["bf16", "fp8"])
@pytest.mark.parametrize("variant", [GATED, MASKED])
def test_the_gate_and_the_fused_store_leave_nothing_to_see(
    shared: SharedModel, variant: object, index_k: IndexFormat
) -> None:
    stage = Stage(shared, variant=variant, index_k=index_k)
    again = three_sessions(stage, shared)
    for asked in again:
        assert asked.is_right, asked.decode.text
        evidence = stage.evidence(asked)
        assert evidence.host_hit_tokens == LOADED, "it was loaded all the same"
        assert (evidence.stale_reads, evidence.poisoned_reads) == (0, 0)
    assert stage.trace.stale_rows == []


def test_the_mask_costs_what_the_gate_costs(shared: SharedModel) -> None:
    """Both make the stream wait at the same place, so nothing but the missing wait itself can be told apart."""
    gated, masked = Stage(shared, variant=GATED), Stage(shared, variant=MASKED)
    for one, other in zip(three_sessions(gated, shared), three_sessions(masked, shared), strict=True):
        assert abs(one.decode.end[2] - other.decode.end[2]) < 1_000_000


def test_without_a_host_tier_nothing_is_loaded(shared: SharedModel) -> None:
    stage = Stage(shared, variant=BARE, host_pages=0)
    again = three_sessions(stage, shared)
    assert all(asked.is_right for asked in again)
    assert [asked.decode.usage.cached_tokens for asked in again] == [0, 0, 0]
    assert stage.trace.stale_rows == []
    assert stage.pair.counters()["loads"] == 0


def test_a_reply_is_the_planted_call_and_usage_counts_it(shared: SharedModel) -> None:
    stage = Stage(shared, variant=GATED)
    talk = Writer(shared, 2).talk(3_000)
    count = shared.reader.count_tokens
    for name in talk.names:
        asked = stage.ask(talk, name)
        assert asked.decode.text == talk.facts[name]
        prompt = shared.reader.read(asked.request.messages, ())
        is_first = name == talk.names[0]
        cached = 0 if is_first else 3_000 // PAGE * PAGE
        for half, completion in ((asked.decode, count(talk.facts[name])), (asked.prefill, 1)):
            assert half.usage.prompt_tokens == len(prompt.tokens)
            assert half.usage.completion_tokens == completion
            assert half.usage.cached_tokens == cached
        # Prefill says the first token, and decode begins with it; one token a step, each at its time.
        assert asked.prefill.pieces == asked.decode.pieces[:1]
        assert asked.decode.times_ns == sorted(set(asked.decode.times_ns))
        assert asked.prefill.times_ns[0] < asked.decode.times_ns[0]


def test_a_limit_cuts_the_reply_and_says_so(shared: SharedModel) -> None:
    stage = Stage(shared, variant=GATED)
    talk = Writer(shared, 3).talk(1_000)
    asked = stage.ask(talk, talk.names[0], max_new_tokens=5)
    assert asked.decode.reason == "length"
    assert asked.decode.usage.completion_tokens == 5
    assert talk.facts[talk.names[0]].startswith(asked.decode.text)
    assert len(asked.decode.text) < len(talk.facts[talk.names[0]])


def test_below_the_reach_of_the_selection_stale_keys_do_no_harm(shared: SharedModel) -> None:
    """512 entries of 4 tokens: a context of up to 2,048 tokens is selected whole, whatever its keys say."""
    short = Stage(shared, variant=BARE, device_pages=9)
    for asked in three_sessions(short, shared, token_count=1_700):
        assert asked.decode.usage.prompt_tokens < 2_048
        assert short.evidence(asked).stale_reads >= 21 * 6
        assert asked.is_right, asked.decode.text
    longer = Stage(shared, variant=BARE, device_pages=48)
    assert not all(asked.is_right for asked in three_sessions(longer, shared))


def test_models_of_other_geometries_share_a_process_and_no_results(shared: SharedModel) -> None:
    """A model that selects four entries recalls worse, and must not be told what a better one found in those pages."""

    def replies(model: SharedModel, geometry: Geometry) -> list[str]:
        stage = Stage(model, variant=GATED, geometry=geometry)
        writer = Writer(shared, 4)
        talk, _ = writer.anchored(talk := writer.talk(3_000), talk.names[:1])
        return [stage.ask(talk, name).decode.text for name in talk.names]

    weak = replace(preset("tiny"), top_k=4)
    alone = replies(SharedModel(), weak)
    assert replies(shared, preset("tiny")) != alone
    assert replies(shared, weak) == alone
    assert replies(shared, FLASH) != alone


def issue_load_of_wrong_pages(rank: Rank, geometry: Geometry, moves: PageMoves, path: TransferPath, slot: int) -> int:
    """A load with a static bug: it takes every page from the place of another session's in the host pool."""
    return issue_load(rank, geometry, replace(moves, host=moves.host + LOADED // PAGE), path, slot)


def test_a_static_copy_bug_is_told_from_a_race(shared: SharedModel, monkeypatch: pytest.MonkeyPatch) -> None:
    writer = Writer(shared, 1)
    talks = [writer.talk(TOKENS) for _ in range(2)]
    monkeypatch.setattr("kernels.hicache.loads.issue_load", issue_load_of_wrong_pages)
    stage = Stage(shared, variant=GATED)
    for talk in (*talks, talks[0]):
        asked = stage.submit(talk, talk.names[1])
        stage.machine.run()
    assert not asked.is_right
    # Every read saw what was promised, so no race; but device and host pages differ when all is at rest.
    assert stage.trace.stale_rows == []
    pages = LOADED // PAGE
    assert stage.pair.cache.statistics.at_rest_mismatches == pages * (21 + 21 + 20), "c4, index-K and c128 of all pages"
