"""Continuous batching: borders and budget of chunks, who goes first, who waits for pages, what is computed twice."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from kernels.engine.shared import SharedModel
from kernels.substrate.trace import Operation
from tests.engine.pair.stage import BARE, GATED, PAGE, Asked, Stage
from tests.engine.pair.talks import Writer


def written_pages(stage: Stage) -> list[list[int]]:
    """Pages that each forward wrote, from the trace: the first layer's kernel of each."""
    return [
        next(region.pages for is_write, region in operation.accesses if is_write).tolist()
        for operation in forwards(stage)
    ]


def forwards(stage: Stage) -> list[Operation]:
    return [operation for operation in stage.trace.operations if operation.label == "project[layer 0]"]


def first_token_ns(asked: Asked) -> int:
    return asked.prefill.times_ns[0]


def test_a_long_prompt_is_cut_at_page_borders(shared: SharedModel) -> None:
    stage = Stage(shared, variant=GATED, chunk_tokens=1_000)
    talk = Writer(shared, 11).talk(3_000)
    asked = stage.ask(talk, talk.names[0])
    assert asked.is_right
    pages = -(-asked.decode.usage.prompt_tokens // PAGE)
    # 1,000 tokens are three whole pages and a rest that is not used.
    whole, rest = divmod(pages, 3)
    assert [len(written) for written in written_pages(stage)] == [3] * whole + [rest] * (rest > 0)
    assert len({page for written in written_pages(stage) for page in written}) == pages, "no page is written twice"
    assert stage.evidence(asked).new_tokens == asked.decode.usage.prompt_tokens


def test_chunks_say_what_one_forward_says(shared: SharedModel) -> None:
    talk, names = (writer := Writer(shared, 12)).anchored(talk := writer.talk(4_000), talk.names)
    for name in (*names, talk.names[0]):
        texts = set()
        for chunk_tokens in (256, 1_024, 16_384):
            asked = Stage(shared, variant=GATED, chunk_tokens=chunk_tokens).ask(talk, name)
            texts.add(asked.decode.text)
        assert texts == {talk.facts[name]}


def test_a_raced_prompt_reads_early_in_its_first_chunk_only(shared: SharedModel) -> None:
    """Behind the first chunk all of the load has landed: attention waited for each layer of it."""
    stage = Stage(shared, variant=BARE)
    writer = Writer(shared, 13)
    talks = [writer.talk(7_800) for _ in range(2)]
    for talk in talks:
        stage.ask(talk, talk.names[0])
    grown = talks[0].told("\n".join(writer.filler(2_000)))
    stage.set_chunk(768)
    before = len(forwards(stage))
    asked = stage.ask(grown, talks[0].names[1])
    chunks = forwards(stage)[before:]
    assert len(chunks) >= 3
    assert stage.evidence(asked).stale_reads == 21 * (7_800 // PAGE)
    last_stale = max(row.operation.ordinal for row in stage.trace.stale_rows)
    assert last_stale < chunks[1].ordinal


@pytest.mark.parametrize("batch_max", [1, 2, 5])
def test_a_batch_has_at_most_so_many_requests(shared: SharedModel, batch_max: int) -> None:
    stage = Stage(shared, variant=GATED, batch_max=batch_max, device_pages=100)
    writer = Writer(shared, 14)
    talks = [writer.talk(700) for _ in range(5)]
    asked = [stage.submit(talk, talk.names[0]) for talk in talks]
    stage.settle()
    assert all(one.is_right for one in asked)
    sizes = [stage.evidence(one).batch for one in asked]
    expected = [min(batch_max, 5 - begin) for begin in range(0, 5, batch_max)]
    assert len(forwards(stage)) == len(expected)
    assert sizes == [size for size in expected for _ in range(size)]


def test_a_batch_has_at_most_so_many_new_tokens(shared: SharedModel) -> None:
    stage = Stage(shared, variant=GATED, chunk_tokens=2_048, device_pages=100)
    writer = Writer(shared, 15)
    talks = [writer.talk(900) for _ in range(6)]
    asked = [stage.submit(talk, talk.names[0]) for talk in talks]
    stage.settle()
    assert all(one.is_right for one in asked)
    tokens = sum(one.decode.usage.prompt_tokens for one in asked)
    assert len(forwards(stage)) >= tokens / 2_048
    # A request's last page may be part of one, so pages are at most one more a request than the tokens fill.
    assert all(len(pages) <= 2_048 // PAGE + 3 for pages in written_pages(stage))
    assert any(stage.evidence(one).batch > 1 for one in asked)


def test_first_come_first_served(shared: SharedModel) -> None:
    stage = Stage(shared, variant=GATED, chunk_tokens=1_024, device_pages=60)
    writer = Writer(shared, 16)
    talks = [writer.talk(tokens) for tokens in (3_000, 500, 2_500, 500, 1_800)]
    asked = [stage.submit(talk, talk.names[0]) for talk in talks]
    stage.settle()
    assert all(one.is_right for one in asked)
    times = [first_token_ns(one) for one in asked]
    assert times == sorted(times)


def test_who_gets_no_pages_waits_and_is_served_later(shared: SharedModel) -> None:
    """The hand-off is slow, so the first one's pages stay locked for long; there is no room for both."""
    stage = Stage(shared, variant=GATED, delays=("handoff=constant:20ms",))
    writer = Writer(shared, 17)
    large, next_large, small = writer.talk(7_800), writer.talk(7_800), writer.talk(500)
    one, two, three = (stage.submit(talk, talk.names[0]) for talk in (large, next_large, small))
    stage.settle()
    assert one.is_right
    assert two.is_right
    assert three.is_right
    assert first_token_ns(two) > one.prefill.end[2], "it could only begin once the first one's pages were let go"
    assert first_token_ns(three) >= first_token_ns(two), "nobody overtakes"


def test_the_decode_side_may_be_what_has_no_room(shared: SharedModel) -> None:
    stage = Stage(shared, variant=GATED, decode_pages=40, device_pages=100)
    writer = Writer(shared, 18)
    talks = [writer.talk(7_000) for _ in range(3)]
    asked = [stage.submit(talk, talk.names[0]) for talk in talks]
    stage.settle()
    assert all(one.is_right for one in asked)
    for earlier, later in pairwise(asked):
        assert first_token_ns(later) > earlier.decode.end[2], "its prefill waits until decode has pages for it"


def test_the_decode_batch_has_its_limit(shared: SharedModel) -> None:
    stage = Stage(shared, variant=GATED, decode_batch_max=1, device_pages=100)
    writer = Writer(shared, 19)
    talks = [writer.talk(600) for _ in range(3)]
    asked = [stage.submit(talk, talk.names[0]) for talk in talks]
    stage.settle()
    assert all(one.is_right for one in asked)
    spans = sorted((one.decode.times_ns[0], one.decode.times_ns[-1]) for one in asked)
    assert all(end < begin for (_, end), (begin, _) in pairwise(spans)), "one after another"


def test_a_decode_step_reads_the_prompts_of_those_that_it_serves(shared: SharedModel) -> None:
    """Requests come and go alone and together; each step's reads are looked up anew, whoever has left."""
    stage = Stage(shared, variant=GATED, device_pages=100)
    writer = Writer(shared, 24)
    talks = [writer.talk(tokens) for tokens in (600, 1_500, 2_400, 3_300)]
    for talk in (*talks, *reversed(talks)):
        stage.ask(talk, talk.names[0])
    for talk in talks:
        stage.submit(talk, talk.names[1])
        stage.run_ns(12_000_000)
    stage.settle()
    pool = stage.pair.decode._pools[0]["index_k"].buffer

    def pages_read(operation: Operation) -> list[int]:
        return sorted(next(region.pages for _, region in operation.accesses if region.buffer is pool).tolist())

    prompts = {op.label: pages_read(op) for op in stage.trace.operations if op.label.startswith("decode.join")}
    steps = [op for op in stage.trace.operations if op.label == "decode.step"]
    served_counts = set()
    for step in steps:
        served = [asked.request.request_id for asked in stage.asked if step.end_ns in asked.decode.times_ns]
        served_counts.add(len(served))
        assert pages_read(step) == sorted(page for name in served for page in prompts[f"decode.join {name}"])
    assert {1, 2} <= served_counts


@pytest.mark.parametrize("host_pages", [400, 0])
def test_a_prompt_computed_twice_at_once_is_kept_once(shared: SharedModel, host_pages: int) -> None:
    stage = Stage(shared, variant=GATED, device_pages=48, host_pages=host_pages)
    talk = Writer(shared, 20).talk(3_000)
    asked = [stage.submit(talk, talk.names[0]) for _ in range(2)]
    stage.settle()
    assert all(one.is_right for one in asked)
    whole_pages = asked[0].decode.usage.prompt_tokens // PAGE
    assert [one.decode.usage.cached_tokens for one in asked] == [0, 0]
    assert stage.pair.cache.statistics.duplicate_pages == whole_pages
    assert stage.pair.cache.device.free_pages == 48 - whole_pages
    again = stage.ask(talk, talk.names[0])
    assert again.decode.usage.cached_tokens == (again.decode.usage.prompt_tokens - 1) // PAGE * PAGE


def test_whoever_has_begun_comes_before_whoever_was_there_first(shared: SharedModel) -> None:
    """The decode half of the first one comes late. By then the second one holds pages that the first would wait for."""
    stage = Stage(shared, variant=GATED, chunk_tokens=1_024, device_pages=40)
    writer = Writer(shared, 21)
    late, early = writer.talk(8_000), writer.talk(8_000)
    first = stage.submit(late, late.names[0], halves=("prefill",))
    second = stage.submit(early, early.names[0])
    stage.run_until(lambda: len(forwards(stage)) == 3)
    first = _with_decode(stage, first)
    stage.settle()
    assert first.is_right
    assert second.is_right
    assert first_token_ns(second) < first_token_ns(first)


def test_a_rest_of_the_budget_locks_nobody_out(shared: SharedModel) -> None:
    """The first chunk leaves a rest of less than a page. Whoever is next must not hold its prefix for that."""
    stage = Stage(shared, variant=GATED, chunk_tokens=5_500, device_pages=44)
    writer = Writer(shared, 22)
    known, long = writer.talk(5_000), writer.talk(10_000)
    stage.ask(known, known.names[0])
    asked = [stage.submit(long, long.names[0]), stage.submit(known, known.names[1])]
    stage.settle()
    assert all(one.is_right for one in asked)


def test_a_load_that_had_to_wait_for_pages_is_still_a_host_hit(shared: SharedModel) -> None:
    """Its pages are loaded, but then none are left for its new tokens: it is looked up a second time later."""
    settings: dict[str, Any] = {"variant": GATED, "delays": ("handoff=constant:20ms",), "device_pages": 48}
    stage = Stage(shared, **settings)
    writer = Writer(shared, 23)
    returning, crowd, busy = writer.talk(5_000), writer.talk(10_500), writer.talk(5_900)
    stage.ask(returning, returning.names[0])
    stage.ask(crowd, crowd.names[0])
    stage.submit(busy, busy.names[0])
    stage.run_until(lambda: bool(stage.pair.prefill._sending))
    grown = returning.told("\n".join(writer.filler(1_800)))
    asked = stage.submit(grown, returning.names[1])
    stage.settle()
    assert asked.is_right
    evidence = stage.evidence(asked)
    assert stage.pair.counters()["load_backs"] == 1
    loaded_tokens = stage.pair.counters()["loaded_pages"] * PAGE
    assert evidence.host_hit_tokens == loaded_tokens > 0
    assert evidence.host_hit_tokens + evidence.device_hit_tokens == asked.decode.usage.cached_tokens


def _with_decode(stage: Stage, asked: Asked) -> Asked:
    """Send the half that was held back."""
    assert isinstance(asked.heard, dict)
    asked.heard["decode"] = type(asked.prefill)()
    stage.submit_half(asked, "decode")
    return asked
