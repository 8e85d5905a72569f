"""A task in plain text: sound spellings of the right word raise no alarm, wrong words are found.

The clean corpus crosses ways of saying a word with made-up words; the planted one damages the word itself. Seeds are
fixed, and the words are made here, not by the product.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from results.findings import Kind, Verdict
from results.oracles.exact_word import says
from results.oracles.judge import judge_turn
from results.records import SessionRecord, TurnRecord
from tests.results.builders import context, turn

SEED = 3
WAYS = (
    "{word}", "{word}.", '"{word}"', "**{word}**", "`{word}`", "The word is {word}.", "{upper}", "Sure! {title}",
    "The secret word of all these notes is:\n\n{word}\n", "- {word}", "«{word}»", "1. {word}!",
    "Слово: {word}", "秘密の単語は「{word}」です。", "{word}, {word}, {word}", "secret_word={word}",
)  # fmt: skip
SESSIONS = (SessionRecord(0, 0, 1, ("lezalivin",)), SessionRecord(1, 0, 1, ("mitupufol",)))


def words(count: int) -> list[str]:
    rng = np.random.default_rng(SEED)
    syllables = [consonant + vowel for consonant in "bdfgklmnprstvz" for vowel in "aeiou"]
    return ["".join(map(str, rng.choice(syllables, 4))) + "k" for _ in range(count)]


def answered(content: str, word: str, **changes: Any) -> TurnRecord:
    fields = {"content": content, "tool_calls": (), "finish_reason": "stop", "expected": None, "expected_word": word}
    return turn(**{**fields, "secrets": (word,), **changes})


def test_no_sound_answer_is_called_wrong() -> None:
    judge = context(tools=(), sessions=SESSIONS)
    for word in words(60):
        for way in WAYS:
            content = way.format(word=word, upper=word.upper(), title=word.title())
            found = judge_turn(answered(content, word), judge)
            assert found.verdict is Verdict.OK, (SEED, content, found.findings)


def test_every_damaged_word_is_found() -> None:
    judge = context(tools=(), sessions=SESSIONS)
    for word in words(60):
        others = (f"{word}s", f"un{word}", word[:-1], word[1:], word[::-1], "no idea", "The word is secret.",
                  f"{word[:4]} {word[4:]}")  # fmt: skip
        for content in others:
            found = judge_turn(answered(content, word), judge)
            assert (found.verdict, found.kind) == (Verdict.VIOLATED, Kind.WRONG_WORD), (SEED, content)
            assert found.primary is not None
            assert word in found.primary.reason


@pytest.mark.parametrize(
    ("changes", "verdict", "kind"),
    [
        ({"content": "mitupufol"}, Verdict.VIOLATED, Kind.CROSS_TALK),
        ({"content": ""}, Verdict.VIOLATED, Kind.EMPTY_REPLY),
        ({"content": "Let me think about", "finish_reason": "length"}, Verdict.UNKNOWN, Kind.TRUNCATED),
        ({"content": "It is lezalivin and", "finish_reason": "length"}, Verdict.OK, None),
        ({"content": "It", "finish_reason": None}, Verdict.UNKNOWN, Kind.CUT_STREAM),
        ({"content": "", "reasoning": "it is lezalivin", "finish_reason": "length"}, Verdict.UNKNOWN, Kind.TRUNCATED),
    ],
)
def test_other_ends(changes: dict[str, Any], verdict: Verdict, kind: Kind | None) -> None:
    found = judge_turn(
        answered(**{"content": "", "word": "lezalivin", **changes}), context(tools=(), sessions=SESSIONS)
    )
    assert (found.verdict, found.kind) == (verdict, kind), found.findings


def test_turns_without_a_word_are_not_asked() -> None:
    assert judge_turn(turn(), context()).verdict is Verdict.OK
    assert says("A Lezalivin, then", "lezalivin")
    assert not says("lezalivins", "lezalivin")
