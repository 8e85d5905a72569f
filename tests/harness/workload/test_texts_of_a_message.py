"""The makings of a message: word forms, sentences, the line pool, the placing of facts, keys and secrets.

Owns: the small pieces, each by itself. Floor: tests.
"""

from __future__ import annotations

from itertools import count, islice, pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.load.workload.grammar import MARKS, has_marks, without_marks
from harness.load.workload.mint import Mint
from harness.load.workload.prose import Line, LineCounter, make_pool, sentence
from harness.load.workload.runbook import Placed, compose, spread
from harness.load.workload.words import load_vocabulary, with_ed, with_ing, with_s
from tests.harness.workload.counting import count_tokens, has_stray_marks

VOCABULARY = load_vocabulary()


@pytest.mark.parametrize(
    ("word", "many", "past", "going"),
    [
        ("carry", "carries", "carried", "carrying"),
        ("play", "plays", "played", "playing"),
        ("watch", "watches", "watched", "watching"),
        ("agree", "agrees", "agreed", "agreeing"),
        ("wrap", "wraps", "wrapped", "wrapping"),
        ("issue", "issues", "issued", "issuing"),
        ("pass", "passes", "passed", "passing"),
    ],
)
def test_word_forms(word: str, many: str, past: str, going: str) -> None:
    assert (with_s(word), with_ed(word), with_ing(word)) == (many, past, going)
    assert with_s("chairman") == "chairmen"


def test_vocabulary_is_large_and_plain() -> None:
    assert len(VOCABULARY.words) > 4000
    assert all(word.isascii() and word.isalpha() for forms in VOCABULARY.forms.values() for word in forms)


@given(st.integers(0, 2**32))
def test_sentences_are_sentences(seed: int) -> None:
    text = sentence(VOCABULARY, np.random.default_rng(seed))
    assert text[0].isupper()
    assert text.endswith(".")
    assert "\n" not in text
    assert not has_stray_marks(text)
    # No slot is left open, and the article suits its word.
    assert not any(word.isupper() for word in text.split()[1:])
    words = text.lower().split()
    assert not any(a == "a" and b[0] in "aeiou" for a, b in pairwise(words))


def test_pool_repeats_no_line_before_all_were_used() -> None:
    pool = make_pool(VOCABULARY, LineCounter(count_tokens), np.random.default_rng(1), 50)
    drawn = list(islice(pool.shuffled(np.random.default_rng(2)), 100))
    assert sorted(line.text for line in drawn[:50]) == sorted(line.text for line in pool.lines)
    assert sorted(line.text for line in drawn[50:]) == sorted(line.text for line in pool.lines)
    assert drawn[:50] != drawn[50:]
    assert all(line.tokens == count_tokens(line.text) for line in pool.lines)


def test_counter_leaves_out_what_a_tokenizer_adds_at_the_edges() -> None:
    counter = LineCounter(lambda text: count_tokens(text) + 2)
    assert counter.line("Nothing else.\n").tokens == count_tokens("Nothing else.\n")


@given(
    head=st.integers(1, 20),
    facts=st.lists(st.tuples(st.floats(0, 600), st.integers(1, 60)), max_size=8),
    filler=st.integers(1, 40),
    target=st.integers(1, 600),
)
def test_composed_message(head: int, facts: list[tuple[float, int]], filler: int, target: int) -> None:
    placed = [Placed(at, Line(f"fact {number}\n", size)) for number, (at, size) in enumerate(facts)]
    lines = (Line(f"filler {number}\n", filler) for number in count())
    made = compose(Line("head\n", head), placed, lines, target)
    owed = head + sum(size for _, size in facts)
    assert made.tokens <= max(target, owed)
    assert made.tokens > target - filler or made.tokens == owed > target
    written = made.text.splitlines()
    assert written[0] == "head"
    # Every fact stands once, in the order of its place, and none before its place.
    order = [line for line in written if line.startswith("fact")]
    wanted = sorted(range(len(facts)), key=lambda number: facts[number][0])
    assert sorted(order) == sorted(f"fact {number}" for number in wanted)
    assert [facts[int(line[5:])][0] for line in order] == sorted(at for at, _ in facts)
    sizes = {f"fact {number}": size for number, (_, size) in enumerate(facts)} | {"head": head}
    tokens = 0
    for line in written:
        is_early = line.startswith("fact") and tokens < facts[int(line[5:])][0]
        assert not is_early or tokens + owed_behind(written, line, sizes) + filler > target
        tokens += sizes.get(line, filler)


def owed_behind(written: list[str], line: str, sizes: dict[str, int]) -> int:
    """What the facts from `line` on take: a fact stands early only where no filler fitted before it any more."""
    return sum(sizes.get(other, 0) for other in written[written.index(line) :])


@given(lines=st.integers(0, 8), copies=st.integers(1, 4), begin=st.floats(0, 50), width=st.floats(1, 1000))
def test_spread_gives_each_placement_its_own_stratum(lines: int, copies: int, begin: float, width: float) -> None:
    texts = [Line(str(number), 1) for number in range(lines)]
    placed = spread(texts, copies, begin, begin + width, np.random.default_rng(5))
    assert len(placed) == lines * copies
    for stratum, item in enumerate(placed):
        place = (item.position - begin) / width * len(placed)
        assert stratum - 1e-6 <= place <= stratum + 1 + 1e-6
    for part in range(copies):
        assert sorted(item.line.text for item in placed[part * lines : (part + 1) * lines]) == sorted(
            line.text for line in texts
        )


def test_mint_gives_nothing_twice_and_no_forbidden_word() -> None:
    first = Mint(np.random.default_rng(9), frozenset())
    taken = {first.secret() for _ in range(300)}
    mint = Mint(np.random.default_rng(9), taken)
    secrets = [mint.secret() for _ in range(300)]
    keys = [mint.key() for _ in range(3000)]
    assert len(set(secrets)) == 300
    assert not taken & set(secrets)
    assert len(set(keys)) == 3000
    assert {len(secret) for secret in secrets} == {9}
    assert all(secret.isalpha() for secret in secrets)
    assert all(key[:4].isalpha() and key[4:].isdigit() for key in keys)


@given(st.recursive(st.text(alphabet="[]()x "), lambda inner: st.lists(inner) | st.dictionaries(st.text("k"), inner)))
def test_marks_can_be_taken_out_of_any_text(value: object) -> None:
    def texts(item: Any) -> list[str]:
        if isinstance(item, str):
            return [item]
        inner = item.values() if isinstance(item, dict) else item
        return [text for part in inner for text in texts(part)]

    cleaned = texts(without_marks(value))
    assert not any(has_marks(text) for text in cleaned)
    assert [text.replace(" ", "") for text in cleaned] == [text.replace(" ", "") for text in texts(value)]
    assert all(has_marks(mark) for mark in MARKS)
