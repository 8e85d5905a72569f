"""Context hashes against their definition, and against being cut anywhere."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernels.engine.recall.contexts import Scan, Scanner, anchored_contexts
from kernels.engine.recall.conversation import ScanCache
from kernels.engine.recall.grammar import KEY_TOKENS_MAX, Carry, Fact, OpenMark
from kernels.engine.recall.hashing import (
    advance,
    fact_context,
    fact_contexts,
    key_state,
    mix,
    mix_word,
    start_state,
    token_word,
    token_words,
    unroll,
)
from kernels.engine.tokenizer import TokenIds, Tokenizer
from kernels.engine.tokenizer_chat import ChatTemplate, SegmentCache
from kernels.engine.vocabulary import (
    FACT_BODY,
    FACT_CLOSE,
    FACT_OPEN,
    NEWLINE,
    REFERENCE_CLOSE,
    REFERENCE_OPEN,
    build_vocabulary,
)

TOKENIZER = Tokenizer(build_vocabulary())
SCANNER = Scanner()
FACT_BIT = np.uint64(1 << 63)

LONG = "-a" * 10
PIECES = [LONG, "[[", "]]", "]] ", "((", "))", "|", "\n", "a", "b", " order", "[[k]] x y\n", "[[k|a]] z\n", "((k))"]
TEXTS = st.lists(st.sampled_from(PIECES), max_size=25).map("".join)


def scan(text: str) -> Scan:
    return SCANNER.scan(TOKENIZER.encode(text), Carry())


def ids(text: str) -> list[int]:
    tokens: list[int] = TOKENIZER.encode(text).tolist()
    return tokens


@given(st.lists(st.integers(0, 16383), max_size=20), st.integers(0, 2**64 - 1))
def test_vector_and_word_arithmetic_agree(tokens: list[int], state: int) -> None:
    array = np.array(tokens, dtype=np.int32)
    assert token_words(array).tolist() == [token_word(token) for token in tokens]
    states = [state]
    for token in tokens:
        states.append(advance(states[-1], token))
    unrolled = unroll(state, array)
    assert unrolled.tolist() == states
    assert mix(unrolled).tolist() == [mix_word(value) for value in states]
    assert fact_contexts(unrolled).tolist() == [fact_context(value) for value in states]


@given(TEXTS, st.data())
def test_cutting_a_text_anywhere_changes_nothing(text: str, data: st.DataObject) -> None:
    tokens = TOKENIZER.encode(text)
    whole = SCANNER.scan(tokens, Carry())
    cuts = sorted(data.draw(st.lists(st.integers(0, len(tokens)), max_size=4)))
    carry, contexts = Carry(), [np.zeros(0, dtype=np.uint64)]
    facts: list[Fact] = []
    for begin, end in zip([0, *cuts], [*cuts, len(tokens)], strict=True):
        part = SCANNER.scan(tokens[begin:end], carry)
        carry = part.carry
        contexts.append(part.contexts)
        facts += part.facts
    assert np.array_equal(np.concatenate(contexts), whole.contexts)
    assert tuple(facts) == whole.facts
    assert carry == whole.carry


@given(TEXTS, TEXTS)
def test_later_text_does_not_change_the_contexts_of_earlier_tokens(text: str, more: str) -> None:
    tokens = TOKENIZER.encode(text)
    longer = np.concatenate([tokens, TOKENIZER.encode(more)])
    assert np.array_equal(SCANNER.scan(longer, Carry()).contexts[: len(tokens)], SCANNER.scan(tokens, Carry()).contexts)


def test_a_body_is_hashed_from_its_key_token_by_token() -> None:
    text = "before [[the key]] order 7 {}\nafter"
    found = scan(text)
    (fact,) = found.facts
    tokens = TOKENIZER.encode(text)
    assert TOKENIZER.decode(tokens[fact.begin : fact.end]) == "order 7 {}\n"
    state = start_state(key_state(ids("the key")), None)
    for position in range(fact.begin, fact.end):
        assert int(found.contexts[position]) == fact_context(state)
        state = advance(state, int(tokens[position]))


def test_text_is_hashed_from_the_four_tokens_in_front() -> None:
    words = "one two three four five six seven eight nine ten"
    first = scan(f"zero {words}").contexts
    second = scan(f"another start here {words}").contexts
    assert len(set(first.tolist())) == len(first)
    # The last word's hash is made of the four before it; the fourth word's also saw what differs.
    assert np.array_equal(first[-6:], second[-6:])
    assert first[-7] != second[-7]
    assert not (first & FACT_BIT).any()


def test_only_bodies_have_the_fact_bit() -> None:
    text = "a [[k]] b c\nd ((k)) [[j]]e"
    tokens = TOKENIZER.encode(text)
    found = scan(text)
    inside = [
        TOKENIZER.decode([token]) for token, hashed in zip(tokens, found.contexts & FACT_BIT, strict=True) if hashed
    ]
    assert inside == ["b", " c", "\n", "e"]


@given(TEXTS)
def test_facts_and_the_last_reference_are_those_that_a_pattern_finds(text: str) -> None:
    """The pattern reads a string of one character a token, so that no match begins inside a token."""
    tokens = TOKENIZER.encode(text)
    characters = "".join(map(chr, tokens.tolist()))
    opened, closed = chr(FACT_OPEN), f"[{chr(FACT_BODY)}{chr(FACT_CLOSE)}]"
    asked, answered = chr(REFERENCE_OPEN), chr(REFERENCE_CLOSE)
    key = f"([^{opened}{closed[1:-1]}{asked}{answered}\n]*)"
    pattern = re.compile(f"{opened}{key}{closed}([^\n]*\n?)|{asked}{key}{answered}")
    facts: list[tuple[str, str]] = []
    last: str | None = None
    for match in pattern.finditer(characters):
        fact_key, body, reference_key = match.groups()
        if reference_key is not None:
            last = reference_key
        elif body.endswith("\n"):
            facts.append((fact_key, body))
    found = scan(text)
    assert [characters[fact.begin : fact.end] for fact in found.facts] == [body for _, body in facts]
    assert [fact.name.key for fact in found.facts] == [plain_key(key) for key, _ in facts]
    reference = found.carry.reference
    assert (None if reference is None else reference.name.key) == (None if last is None else plain_key(last))


def plain_key(characters: str) -> int:
    """The state of the key's part in front of the bar."""
    return key_state([ord(character) for character in characters.partition("|")[0]])


def test_an_anchored_fact_depends_on_the_first_token_under_its_anchor() -> None:
    text = "[[a]] red apple\n[[k|a]] order 7\n"
    found = scan(text)
    tokens = TOKENIZER.encode(text)
    anchor, fact = found.facts
    assert fact.name.anchor == anchor.name.key
    assert fact.recalled == ids("red")[0]
    body: TokenIds = tokens[fact.begin : fact.end]
    assert np.array_equal(anchored_contexts(fact, body, ids("red")[0]), found.contexts[fact.begin : fact.end])
    wrong = anchored_contexts(fact, body, ids("green")[0])
    assert not np.isin(wrong, found.contexts).any()
    assert scan("[[k]] order 7\n").contexts[-2] != found.contexts[fact.end - 2]


def test_the_latest_definition_of_an_anchor_counts_and_an_unknown_one_is_none() -> None:
    text = "[[k0|a]] x\n[[a]] red\n[[a]] green\n[[k|a]] x\n"
    unknown, _, _, known = scan(text).facts
    assert unknown.recalled is None
    assert known.recalled == ids("green")[0]


def test_an_anchor_is_a_plain_fact() -> None:
    text = "[[a]] red\n[[a|b]] blue\n[[k|a]] x\n"
    assert scan(text).facts[-1].recalled == ids("red")[0]


def test_the_last_reference_counts_and_bodies_hold_none() -> None:
    found = scan("((one)) ((two|three)) [[k]] ((four))\n")
    reference = found.carry.reference
    assert reference is not None
    assert (reference.name.key, reference.name.anchor) == (key_state(ids("two")), key_state(ids("three")))
    assert reference.position == len(ids("((one)) ((two|three))"))
    assert scan("no reference here").carry.reference is None


@pytest.mark.parametrize(("length", "count"), [(KEY_TOKENS_MAX, 1), (KEY_TOKENS_MAX + 1, 0)])
def test_a_key_has_a_greatest_length(length: int, count: int) -> None:
    assert len(scan("[[" + "-a" * (length // 2) + "-" * (length % 2) + "]] x\n").facts) == count


def test_an_open_mark_carries_no_more_tokens_than_tell_that_it_is_no_key() -> None:
    tokens = TOKENIZER.encode("[[" + "-a" * 50)
    whole = SCANNER.scan(tokens, Carry()).carry
    assert isinstance(whole.pending, OpenMark)
    assert len(whole.pending.tokens) == KEY_TOKENS_MAX + 1
    carry = Carry()
    for begin in range(0, len(tokens), 20):
        carry = SCANNER.scan(tokens[begin : begin + 20], carry).carry
    assert carry == whole


@pytest.mark.parametrize("text", ["[[k\n]] x\n", "[[k)) x\n", "((k]] x\n", "[k]] x\n"])
def test_broken_marks_are_plain_text(text: str) -> None:
    found = scan(text)
    assert found.facts == ()
    assert found.carry.reference is None
    assert not (found.contexts & FACT_BIT).any()


def test_a_prompt_scanned_by_message_equals_its_tokens_scanned_whole() -> None:
    chat = ChatTemplate(TOKENIZER, SegmentCache(1 << 20))
    cache = ScanCache(1 << 20)
    messages = [
        {"role": "user", "content": "[[a]] red\n[[k|a]] order 7\n((k|a))"},
        {"role": "assistant", "content": "order 7"},
        {"role": "user", "content": "and [[j]] more"},
    ]
    for count in (1, 2, 3):
        prompt = cache.scan_prompt(chat.render(messages[:count]))
        whole = SCANNER.scan(prompt.tokens, Carry())
        assert np.array_equal(prompt.contexts, whole.contexts)
        assert (prompt.facts, prompt.carry, prompt.reference) == (whole.facts, whole.carry, whole.carry.reference)
    # Five segments were scanned: the system's, the three messages', and one opened reply behind each of three prompts.
    assert (cache.misses, cache.hits) == (1 + 3 + 3, 2 + 3)
    assert prompt.facts[-1].end == int(np.flatnonzero(prompt.tokens != NEWLINE)[-1]), "the message's end ends the body"


def test_the_scan_cache_keeps_its_bound() -> None:
    chat = ChatTemplate(TOKENIZER, SegmentCache(1 << 20))
    cache = ScanCache(byte_count_max=30_000)
    for number in range(20):
        cache.scan_prompt(chat.render([{"role": "user", "content": f"text {number} " * 100}]))
        assert cache.byte_count <= cache.byte_count_max
    assert cache.hits > 0
