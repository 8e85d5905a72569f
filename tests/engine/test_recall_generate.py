"""Replies: drafting changes nothing but the time, stops are stops, memoised replies are the same replies."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernels.engine.recall.codes import signatures_of
from kernels.engine.recall.content import PageBuilder
from kernels.engine.recall.generate import STOP_TOKENS, Reply, ReplyStart, generate, state_context
from kernels.engine.recall.hashing import advance
from kernels.engine.recall.memo import Memo
from kernels.engine.recall.model import RecallModel
from kernels.engine.recall.queries import Queries, queries_behind
from kernels.engine.recall.reading import Reading
from kernels.engine.recall.recall import recall_tokens
from kernels.engine.recall.shape import RecallShape
from kernels.engine.tokenizer import TokenIds
from tests.engine.recall_cases import (
    Case,
    bench,
    case_of,
    clean,
    first_query,
    layered_reading,
    random_case,
    start_of_reply,
)

BENCH = bench(RecallShape(indexed_layers=3, summary_layers=2, top_k=128))
CASE = random_case(BENCH, "bf16", 1, 6, 4_000)
CLEAN = clean(BENCH, CASE)


def token_by_token(case: Case, reading: Reading, start: ReplyStart, first: int, limit: int) -> list[int]:
    """The definition: one query at a time, behind everything that was said."""
    said, state = [first], advance(start.state, first)
    while said[-1] not in STOP_TOKENS and len(said) < limit:
        tokens = np.array(said, dtype=np.int32)
        contexts = BENCH.scanner.scan(tokens, case.prompt.carry).contexts
        lags = np.array([len(said)], dtype=np.int64)
        queries = queries_behind(state_context(state), start.position, tokens, contexts, lags)
        said.append(int(recall_tokens(BENCH.model, reading, queries)[0]))
        state = advance(state, said[-1])
    return said


def first_token(case: Case, reading: Reading) -> int:
    return int(recall_tokens(BENCH.model, reading, first_query(BENCH, case, reading))[0])


@settings(max_examples=25)
@given(first=st.one_of(st.none(), st.integers(0, 16_383)), limit=st.integers(1, 40), fact=st.integers(0, 5))
def test_drafting_gives_the_loops_reply_from_any_first_token(first: int | None, limit: int, fact: int) -> None:
    key = list(CASE.facts)[fact]
    prompt = BENCH.prompt("", f"(({key}))")
    start = replace(start_of_reply(BENCH, CASE, CLEAN), state=start_of_reply(BENCH, Case(prompt, [], {}), CLEAN).state)
    token = int(BENCH.tokenizer.encode(CASE.facts[key])[0]) if first is None else first
    reply = generate(BENCH.model, BENCH.scanner, CLEAN, start, token, limit)
    assert list(reply.tokens) == token_by_token(CASE, CLEAN, start, token, limit)
    assert reply.is_stopped == (reply.tokens[-1] in STOP_TOKENS)


def test_a_draft_that_is_wrong_in_the_middle_is_cut_there() -> None:
    """The draft comes from latents that all layers but one read differently: it must be caught, not believed."""
    rows = [page.clean for page in CASE.pages]
    keys = [row.index_k for row in rows]
    numbers = [row.tokens.numbers.copy() for row in rows]
    start = start_of_reply(BENCH, CASE, CLEAN)
    fact = next(f for f in CASE.prompt.facts if start.state == f.name.key)
    numbers[(fact.begin + 6) // 256][(fact.begin + 6) % 256] = 77
    changed = [replace(row.tokens, numbers=own) for row, own in zip(rows, numbers, strict=True)]
    own = [row.tokens for row in rows]
    reading = layered_reading(BENCH, rows, [keys] * 3, [changed, own, own])
    first = first_token(CASE, reading)
    expected = token_by_token(CASE, reading, start, first, 60)
    assert list(generate(BENCH.model, BENCH.scanner, reading, start, first, 60).tokens) == expected
    everywhere = layered_reading(BENCH, rows, [keys] * 3, [changed] * 3)
    misled = token_by_token(CASE, everywhere, start, first, 60)
    assert misled[6] == 77
    assert misled[:6] == expected[:6]
    assert list(generate(BENCH.model, BENCH.scanner, everywhere, start, first, 60).tokens) == misled


def test_every_token_was_asked_for_behind_the_tokens_before_it(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[int, list[int], list[int]]] = []

    def recording(model: RecallModel, reading: Reading, queries: Queries) -> TokenIds:
        for context, lag in zip(queries.contexts.tolist(), queries.lags.tolist(), strict=True):
            asked.append((context, queries.tail_numbers[:lag].tolist(), queries.tail_signatures[:lag].tolist()))
        return recall_tokens(model, reading, queries)

    monkeypatch.setattr("kernels.engine.recall.generate.recall_tokens", recording)
    start = start_of_reply(BENCH, CASE, CLEAN)
    asked.clear()
    for first, limit in ((first_token(CASE, CLEAN), 100), (77, 5)):
        reply = generate(BENCH.model, BENCH.scanner, CLEAN, start, first, limit)
        state = start.state
        for count in range(1, len(reply.tokens)):
            state = advance(state, reply.tokens[count - 1])
            said = np.array(reply.tokens[:count], dtype=np.int32)
            signatures = signatures_of(BENCH.scanner.scan(said, CASE.prompt.carry).contexts)
            assert (int(state_context(state)[0]), said.tolist(), signatures.tolist()) in asked


def test_a_clean_reply_takes_one_evaluation_and_ends_with_its_newline() -> None:
    start = start_of_reply(BENCH, CASE, CLEAN)
    reply = generate(BENCH.model, BENCH.scanner, CLEAN, start, first_token(CASE, CLEAN), 128)
    assert BENCH.tokenizer.decode(reply.tokens) == next(iter(CASE.facts.values())) + "\n"
    assert (reply.is_stopped, reply.evaluations) == (True, 1)


@pytest.mark.parametrize("limit", [1, 2, 7])
def test_the_limit_counts_the_first_token(limit: int) -> None:
    start = start_of_reply(BENCH, CASE, CLEAN)
    reply = generate(BENCH.model, BENCH.scanner, CLEAN, start, first_token(CASE, CLEAN), limit)
    assert len(reply.tokens) == limit
    assert not reply.is_stopped


@pytest.mark.parametrize("stop", STOP_TOKENS)
def test_a_stop_as_first_token_is_the_whole_reply(stop: int) -> None:
    start = start_of_reply(BENCH, CASE, CLEAN)
    assert generate(BENCH.model, BENCH.scanner, CLEAN, start, stop, 9) == Reply((stop,), True, 0)


def test_a_body_without_a_newline_ends_with_its_message() -> None:
    case = case_of(BENCH, PageBuilder(BENCH.model, "bf16"), "[[k]] the end", {}, "((k))")
    reading = clean(BENCH, case)
    start = start_of_reply(BENCH, case, reading)
    reply = generate(BENCH.model, BENCH.scanner, reading, start, first_token(case, reading), 9)
    assert BENCH.tokenizer.decode(reply.tokens) == "the end<|end|>"
    assert reply.is_stopped


def test_only_identified_readings_are_remembered_and_only_for_the_same_start() -> None:
    start = start_of_reply(BENCH, CASE, CLEAN)
    first = first_token(CASE, CLEAN)
    memo: Memo[Reply] = Memo(entry_count_max=2)

    def reply(reading: Reading, token: int, limit: int) -> Reply:
        return generate(BENCH.model, BENCH.scanner, reading, start, token, limit, memo)

    computed = reply(CLEAN, first, 50)
    assert (memo.hits, memo.misses) == (0, 1)
    assert reply(clean(BENCH, CASE), first, 50) is computed
    assert (memo.hits, memo.misses) == (1, 1)
    assert reply(CLEAN, first, 5).tokens == computed.tokens[:5]
    assert reply(CLEAN, first + 1, 50).tokens != computed.tokens
    assert reply(CLEAN, first, 50) is not computed, "two newer entries pushed it out"
    unnamed = replace(CLEAN, identity=None)
    before = (memo.hits, memo.misses)
    assert reply(unnamed, first, 50) == computed
    assert (memo.hits, memo.misses) == before
