"""The recall model as a whole: exact on clean bytes at any length, wrong where most layers select by stale keys."""

from __future__ import annotations

import numpy as np
import pytest

from kernels.engine.recall.content import PageBuilder, PageRows
from kernels.engine.recall.generate import generate, state_context
from kernels.engine.recall.grammar import start_of
from kernels.engine.recall.hashing import Words
from kernels.engine.recall.index_page import IndexDtype
from kernels.engine.recall.queries import queries_at
from kernels.engine.recall.recall import recall
from tests.engine.recall_cases import (
    Case,
    bench,
    case_of,
    clean,
    first_query,
    layered_reading,
    random_case,
    start_of_reply,
    text_with_facts,
)

BENCH = bench()
LAYERS = BENCH.model.shape.indexed_layers


def reply_text(case: Case) -> str:
    reading = clean(BENCH, case)
    first = recall(BENCH.model, reading, first_query(BENCH, case, reading)).tokens[0]
    start = start_of_reply(BENCH, case, reading)
    reply = generate(BENCH.model, BENCH.scanner, reading, start, int(first), 128)
    assert reply.is_stopped
    return BENCH.tokenizer.decode(reply.tokens)


@pytest.mark.parametrize("dtype", ["bf16", "fp8"])
def test_a_hundred_facts_in_32k_tokens_are_recalled_to_the_letter(dtype: IndexDtype) -> None:
    builder = PageBuilder(BENCH.model, dtype)
    text, facts = text_with_facts(BENCH.tokenizer, 1, 100, 32_000)
    shared = 32_000 // 256
    whole = case_of(BENCH, builder, text, facts, "((none))")
    for key, body in facts.items():
        prompt = BENCH.prompt(text, f"please (({key}))")
        # The prompts differ in their last message only: the pages before it are the same.
        tail = builder.build(prompt.tokens[shared * 256 :], prompt.contexts[shared * 256 :])
        assert reply_text(Case(prompt, whole.pages[:shared] + tail, facts)) == body + "\n"


def test_a_fact_in_40k_tokens_is_recalled_to_the_letter() -> None:
    case = random_case(BENCH, "bf16", 2, 30, 40_000)
    assert reply_text(case) == next(iter(case.facts.values())) + "\n"


def first_tokens(case: Case) -> tuple[list[str], Words, list[int]]:
    """All keys of a case, the hashes that recall their first tokens, and those tokens."""
    keys = list(case.facts)
    names = [BENCH.prompt("", f"(({key}))").reference for key in keys]
    contexts = [state_context(start_of(reference.name, None)) for reference in names if reference is not None]
    return keys, np.concatenate(contexts), [int(BENCH.tokenizer.encode(case.facts[key])[0]) for key in keys]


def stale_answers(case: Case, other: list[PageRows], stale_layer_count: int, seed: int) -> list[int]:
    """What each key recalls if some layers read `other` where the facts lie."""
    rows = [page.clean for page in case.pages]
    clean_keys = [row.index_k for row in rows]
    stale_keys = [*(row.index_k for row in other[: len(rows) - 2]), *clean_keys[-2:]]
    stale_layers = np.random.default_rng(seed).permutation(LAYERS)[:stale_layer_count]
    reading = layered_reading(BENCH, rows, [stale_keys if i in stale_layers else clean_keys for i in range(LAYERS)])
    _, contexts, _ = first_tokens(case)
    answers: list[int] = recall(BENCH.model, reading, queries_at(contexts, case.position)).tokens.tolist()
    return answers


@pytest.mark.parametrize("dtype", ["bf16", "fp8"])
def test_stale_keys_in_a_minority_of_layers_are_outvoted_and_in_a_majority_they_win(dtype: IndexDtype) -> None:
    case = random_case(BENCH, dtype, 3, 40, 24_000)
    other = [page.clean for page in random_case(BENCH, dtype, 4, 40, 25_000).pages]
    _, _, expected = first_tokens(case)
    entries = case.position // 4
    for count in (0, 4, 8):
        assert stale_answers(case, other, count, seed=count) == expected
    for count in (12, 16, 21):
        answers = stale_answers(case, other, count, seed=count)
        right = sum(answer == wanted for answer, wanted in zip(answers, expected, strict=True))
        # A stale selection is blind: 512 of all entries, so it holds the answer's entry by luck, rarely more often.
        assert right <= 3 * len(expected) * 512 / entries


def test_nothing_is_lost_below_the_reach_of_the_selection_whatever_the_keys_hold() -> None:
    case = random_case(BENCH, "bf16", 5, 12, 1_700)
    assert case.position < 2_048
    other = [page.clean for page in random_case(BENCH, "bf16", 6, 12, 4_000).pages]
    _, _, expected = first_tokens(case)
    assert stale_answers(case, other, LAYERS, seed=1) == expected


def test_a_fact_that_stands_in_several_places_survives_stale_keys_at_one_of_them() -> None:
    text, facts = text_with_facts(BENCH.tokenizer, 7, 10, 16_000, copies=4)
    key = next(iter(facts))
    case = case_of(BENCH, PageBuilder(BENCH.model, "bf16"), text, facts, f"(({key}))")
    other = [page.clean for page in random_case(BENCH, "bf16", 8, 10, 17_000).pages]
    rows = [page.clean for page in case.pages]
    _, contexts, expected = first_tokens(case)
    places = np.flatnonzero(case.prompt.contexts == contexts[0])
    assert len(places) == 4
    for spared in places // 256:
        keys = [row.index_k if i in (spared, len(rows) - 1) else other[i].index_k for i, row in enumerate(rows)]
        reading = layered_reading(BENCH, rows, [keys] * LAYERS)
        assert recall(BENCH.model, reading, queries_at(contexts[:1], case.position)).tokens[0] == expected[0]


def test_of_two_definitions_the_latest_counts() -> None:
    builder = PageBuilder(BENCH.model, "bf16")
    filler, _ = text_with_facts(BENCH.tokenizer, 9, 1, 6_000)
    text = f"[[k]] old one\n{filler}\n[[k]] new one\n{filler}"
    assert reply_text(case_of(BENCH, builder, text, {}, "((k))")) == "new one\n"


def test_an_anchored_reference_follows_the_anchors_first_token() -> None:
    builder = PageBuilder(BENCH.model, "bf16")
    filler, _ = text_with_facts(BENCH.tokenizer, 10, 1, 6_000)
    text = f"[[door]] red side\n{filler}\n[[key|door]] open_door {{}}\n[[key]] other {{}}\n{filler}"
    assert reply_text(case_of(BENCH, builder, text, {}, "((key|door))")) == "open_door {}\n"
    assert reply_text(case_of(BENCH, builder, text, {}, "((key))")) == "other {}\n"


def test_a_prompt_without_a_reference_gets_a_sentence() -> None:
    case = case_of(BENCH, PageBuilder(BENCH.model, "bf16"), "hello", {}, "who are you?")
    assert reply_text(case) == "Put a key in double parentheses, and I recall what stands under it.\n"


def test_stale_latents_lose_the_answer_too() -> None:
    case = random_case(BENCH, "bf16", 11, 20, 12_000)
    other = [page.clean for page in random_case(BENCH, "bf16", 12, 20, 13_000).pages]
    rows = [page.clean for page in case.pages]
    keys = [row.index_k for row in rows]
    own = [row.tokens for row in rows]
    foreign = [*(row.tokens for row in other[: len(rows) - 2]), *own[-2:]]
    _, contexts, expected = first_tokens(case)
    for count, are_right in ((8, True), (16, False)):
        c4 = [foreign if layer < count else own for layer in range(LAYERS)]
        reading = layered_reading(BENCH, rows, [keys] * LAYERS, c4)
        answers = recall(BENCH.model, reading, queries_at(contexts, case.position)).tokens.tolist()
        assert (answers == expected) == are_right
