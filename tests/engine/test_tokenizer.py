"""The tokenizer: reversible for every text, cuts that do not depend on what came before, ids that are all text."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernels.engine.tokenizer import Tokenizer
from kernels.engine.vocabulary import (
    FACT_BODY,
    FACT_CLOSE,
    FACT_OPEN,
    NEWLINE,
    NOTHING,
    REFERENCE_CLOSE,
    REFERENCE_OPEN,
    SPECIALS,
    SYSTEM,
    VOCABULARY_SIZE,
    build_vocabulary,
)
from kernels.engine.vocabulary_words import stems, word_forms

TOKENIZER = Tokenizer(build_vocabulary())

SNIPPETS = st.sampled_from(
    ["[[", "]]", "]] ", "((", "))", "|", "\n", '{"', '"}', '": "', '", "', " the", "order", "7f3a", "   ", "漢", "😀"]
)
TEXTS = st.lists(st.one_of(SNIPPETS, st.text(max_size=8)), max_size=12).map("".join)
LINES = TEXTS.map(lambda text: text.replace("\n", " "))
KEYS = st.from_regex(r"[A-Za-z0-9_-][A-Za-z0-9_. -]{0,12}", fullmatch=True)


@given(TEXTS)
def test_every_text_comes_back(text: str) -> None:
    assert TOKENIZER.decode(TOKENIZER.encode(text)) == text


@given(st.lists(st.integers(0, VOCABULARY_SIZE - 1), min_size=1, max_size=30))
def test_every_sequence_of_ids_is_some_text(ids: list[int]) -> None:
    text = TOKENIZER.decode(ids)
    assert text.encode()
    assert TOKENIZER.decode_bytes(np.array(ids, dtype=np.int32)) == b"".join(TOKENIZER.decode_bytes([i]) for i in ids)


def test_every_id_beyond_the_bytes_is_printable_text_of_its_own() -> None:
    texts = [TOKENIZER.decode([index]) for index in range(256, VOCABULARY_SIZE)]
    assert len(set(texts)) == len(texts)
    assert [text for text in texts if "\ufffd" in text] == []
    assert [text for text in texts if not text.isprintable()] == []


@given(LINES)
def test_a_facts_body_has_the_tokens_of_the_reply_that_repeats_it(body: str) -> None:
    prompt = TOKENIZER.encode(f"some text\n[[key]] {body}\n").tolist()
    reply = TOKENIZER.encode(body).tolist()
    assert prompt[len(prompt) - len(reply) - 2 :] == [FACT_BODY, *reply, NEWLINE]


@given(LINES, LINES)
def test_a_line_has_the_same_tokens_wherever_it_stands(first: str, second: str) -> None:
    together = TOKENIZER.encode(f"{first}\n{second}").tolist()
    assert together == [*TOKENIZER.encode(first).tolist(), NEWLINE, *TOKENIZER.encode(second).tolist()]


@given(KEYS, KEYS)
def test_a_key_has_the_same_tokens_in_a_fact_and_in_a_reference(key: str, anchor: str) -> None:
    fact = TOKENIZER.encode(f"[[{key}|{anchor}]] x").tolist()
    reference = TOKENIZER.encode(f"please (({key}|{anchor}))").tolist()
    inside_fact = fact[fact.index(FACT_OPEN) + 1 : fact.index(FACT_BODY)]
    inside_reference = reference[reference.index(REFERENCE_OPEN) + 1 : reference.index(REFERENCE_CLOSE)]
    assert inside_fact == inside_reference


@pytest.mark.parametrize(
    ("text", "ids"),
    [("[[", [FACT_OPEN]), ("]] ", [FACT_BODY]), ("]]", [FACT_CLOSE]), ("((", [REFERENCE_OPEN]), ("\n", [NEWLINE])],
)
def test_grammar_pieces_are_single_tokens(text: str, ids: list[int]) -> None:
    assert TOKENIZER.encode(text).tolist() == ids


@pytest.mark.parametrize("name", SPECIALS)
def test_the_name_of_a_special_token_in_a_text_is_plain_text(name: str) -> None:
    ids = TOKENIZER.encode(name)
    assert not np.isin(ids, np.arange(SYSTEM, NOTHING + 1)).any()
    assert TOKENIZER.decode(ids) == name


def test_tool_calls_take_few_tokens() -> None:
    call = 'lookup_order {"order_id": "A-1234", "limit": 25, "note": "please confirm the delivery"}'
    assert len(TOKENIZER.encode(call)) < len(call) / 3


def test_cut_characters_become_replacement_characters() -> None:
    ids = TOKENIZER.encode("\u1234").tolist()
    assert len(ids) == 3, "this character is spelled in bytes"
    assert TOKENIZER.decode(ids[:2]) == "\ufffd"
    assert TOKENIZER.decode_bytes(ids[:2]) == "\u1234".encode()[:2]


def test_a_lone_surrogate_is_accepted_and_never_comes_back() -> None:
    assert set(TOKENIZER.decode(TOKENIZER.encode("\ud800"))) == {"\ufffd"}


def test_two_tokenizers_agree_whatever_they_have_seen() -> None:
    other = Tokenizer(build_vocabulary())
    for text in ("zyxwv123abc", "Frobnicate", "x" * 40):
        other.encode(text * 3)
    text = "Frobnicate zyxwv123abc 0123456789 getOrderStatus ЖЖ"
    assert np.array_equal(TOKENIZER.encode(text), other.encode(text))
    assert TOKENIZER.vocabulary == other.vocabulary


def test_the_words_are_a_few_thousand_and_most_are_one_token() -> None:
    assert len(stems()) > 2_000
    assert len(word_forms()) > 5_000
    lengths = [len(TOKENIZER.encode(" " + word)) for word in word_forms()]
    assert set(lengths) == {1}
