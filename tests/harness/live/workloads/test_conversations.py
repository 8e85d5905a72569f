"""Conversations of people, and conversations made from a description."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from harness.live.workloads.distributions import read_distribution
from harness.live.workloads.entries import Entry
from harness.live.workloads.scripted import Answer, ScriptedSession
from harness.live.workloads.sharegpt import ShareGptSource
from harness.live.workloads.vllm_multiturn import vllm_multiturn
from kernels.errors import ConfigError
from tests.harness.live.workloads.small_files import SEED, count_tokens, lines, said, whole


def shared(path: Path, *talks: list[tuple[str, str]]) -> tuple[list[ScriptedSession], Counter[str]]:
    left_out: Counter[str] = Counter()
    whole(path, [{"id": str(at), "conversations": [{"from": who, "value": text} for who, text in talk]}
                 for at, talk in enumerate(talks)])  # fmt: skip
    return list(ShareGptSource(path, left_out).sessions()), +left_out


def test_each_question_is_a_request_with_everything_before_it(tmp_path: Path) -> None:
    talk = [("system", "Be brief."), ("human", "One?"), ("gpt", "1"), ("human", "Two?"), ("gpt", "2"), ("human", "?")]
    (session,), left_out = shared(tmp_path / "s.json", talk)
    history = said(("system", "Be brief."), ("user", "One?"), ("assistant", "1"), ("user", "Two?"), ("assistant", "2"),
                   ("user", "?"))  # fmt: skip
    assert [session.messages(turn) for turn in range(3)] == [history[:2], history[:4], history]
    assert [turn.recorded for turn in session.turns] == [Answer("1"), Answer("2"), None]
    assert all(turn.expected is None for turn in session.turns)
    assert not left_out


def test_oddities_of_sharegpt_are_left_out_and_counted(tmp_path: Path) -> None:
    sessions, left_out = shared(
        tmp_path / "s.json",
        [("gpt", "I begin."), ("human", "One?"), ("gpt", "1")],
        [("human", "One?"), ("gpt", " "), ("human", "Two?"), ("gpt", "2")],
        [("human", "One?"), ("human", "And two?"), ("bing", "x"), ("gpt", "1"), ("gpt", "and 2")],
        [("gpt", "Nobody asked.")],
        [],
    )
    assert [[message["content"] for message in session.messages(len(session.turns) - 1)] for session in sessions] == [
        ["One?"], ["Two?"], ["One?\nAnd two?"],
    ]  # fmt: skip
    assert sessions[2].turns[0].recorded == Answer("1\nand 2")
    assert sorted(left_out.values()) == [1, 1, 2, 2]


@pytest.mark.parametrize(
    ("entry", "sentence"),
    [
        ({"id": "a"}, "field 'conversations' is missing"),
        ({"conversations": {}}, "field 'conversations' is an object, not a list"),
        (
            {"conversations": [{"from": "human", "value": 7}]},
            r"conversations\[0\] must have 'from' and 'value' as texts",
        ),
        ({"conversations": ["Hi"]}, r"conversations\[0\] must have .*, not text"),
    ],
)
def test_broken_conversations_are_named_with_their_line(tmp_path: Path, entry: dict[str, Any], sentence: str) -> None:
    path = lines(tmp_path / "s.json", [{"conversations": []}, entry])
    with pytest.raises(ConfigError, match=rf"s\.json:2: .*{sentence}"):
        list(ShareGptSource(path, Counter()).sessions())


def made(path: Path, value: object) -> list[ScriptedSession]:
    return list(vllm_multiturn(whole(path, value), SEED, count_tokens, Counter()).sessions())


def test_lists_of_messages_are_read_with_and_without_ids(tmp_path: Path) -> None:
    talk = said(("user", "One?"), ("assistant", "1"), ("user", "Two?"), ("assistant", "2"))
    for value in ([{"id": "a", "messages": talk}], [talk]):
        (session,) = made(tmp_path / "v.json", value)
        assert [session.messages(turn) for turn in (0, 1)] == [talk[:1], talk[:3]]


def described(path: Path, **changes: Any) -> list[ScriptedSession]:
    constant = {"distribution": "constant", "value": 60}
    common = {"distribution": "constant", "value": 200}
    asked = {"num_turns": {"distribution": "uniform", "min": 1, "max": 7}, "prefix_num_tokens": constant,
             "num_tokens": constant, "common_prefix_num_tokens": common}  # fmt: skip
    spec = {"filetype": "generate_conversations", "num_conversations": 40, "text_files": [], "prompt_input": asked,
            "prompt_output": {"num_tokens": {"distribution": "constant", "value": 30}}}  # fmt: skip
    return made(path, {**spec, **changes})


def test_conversations_are_made_as_they_are_described(tmp_path: Path) -> None:
    sessions = described(tmp_path / "v.json")
    assert len(sessions) == 40
    # 1 to 7 turns of both sides, two at least, and an answer for each question: 1 to 4 questions.
    assert {len(session.turns) for session in sessions} == {1, 2, 3, 4}
    firsts = [session.messages(0)[0]["content"] for session in sessions]
    begins = {" ".join(text.split()[:90]) for text in firsts}
    assert len(begins) == 1, "all begin with the common prefix"
    assert len(set(firsts)) == 40
    for session in sessions:
        roles = [message["role"] for message in session.messages(len(session.turns) - 1)]
        assert roles == (["user", "assistant"] * len(session.turns))[:-1]
        lengths = [count_tokens(message["content"]) for message in session.messages(len(session.turns) - 1)]
        assert 300 < lengths[0] < 360
        assert all(25 <= tokens <= 35 for tokens in lengths[1::2])
        assert all(60 < tokens < 90 for tokens in lengths[2::2])
        assert all(turn.max_tokens == 30 for turn in session.turns)
    assert [one.messages(0) for one in described(tmp_path / "v.json")] == [one.messages(0) for one in sessions]


def test_text_files_are_found_beside_the_description(tmp_path: Path) -> None:
    (tmp_path / "book.txt").write_text("whale ship sea " * 500)
    session = described(tmp_path / "v.json", text_files=["book.txt"], num_conversations=1)[0]
    words = set(session.messages(0)[0]["content"].split("\n")[-1].split())
    assert words <= {"whale", "ship", "sea"}
    with pytest.raises(ConfigError, match=r"gone\.txt: cannot read this file"):
        described(tmp_path / "v.json", text_files=["gone.txt"])


def distribution(**fields: Any) -> Any:
    return read_distribution(Entry(Path("v.json"), 3, {"num_turns": fields}), "num_turns")


@pytest.mark.parametrize(
    ("fields", "reference"),
    [
        ({"distribution": "uniform", "min": 3, "max": 9}, stats.randint(3, 10)),
        ({"distribution": "lognormal", "mean": 3.0, "sigma": 0.5}, stats.lognorm(0.5, scale=np.exp(3.0))),
        ({"distribution": "zipf", "alpha": 4.0}, stats.zipf(4.0)),
        ({"distribution": "poisson", "alpha": 6.5}, stats.poisson(6.5)),
    ],
)
def test_distributions_have_their_means(fields: dict[str, Any], reference: Any) -> None:
    rng = np.random.default_rng(SEED)
    drawn = [distribution(**fields).draw(rng) for _ in range(4_000)]
    assert abs(np.mean(drawn) - float(reference.mean())) <= 5 * float(reference.std()) / 4_000**0.5 + 0.02
    capped = [distribution(**fields, max=4).draw(rng) for _ in range(50)] if "sigma" in fields else [4]
    assert max(capped) == 4


def test_a_constant_is_one() -> None:
    rng = np.random.default_rng(SEED)
    assert {distribution(distribution="constant", value=7).draw(rng) for _ in range(20)} == {7}


def test_average_and_median_of_a_lognormal() -> None:
    rng = np.random.default_rng(SEED)
    drawn = [distribution(distribution="lognormal", average=1000, median_ratio=0.7).draw(rng) for _ in range(20_000)]
    assert np.mean(drawn) == pytest.approx(1000, rel=0.03)
    assert np.median(drawn) == pytest.approx(700, rel=0.03)


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"distribution": "normal"}, "'num_turns': unknown distribution 'normal' .*allowed: constant, uniform"),
        ({}, "field 'distribution' is missing"),
        ({"distribution": "uniform", "min": 9, "max": 3}, "uniform needs min and max"),
        ({"distribution": "constant"}, "constant needs a value"),
        ({"distribution": "lognormal", "average": 0.5}, "lognormal needs an average"),
        ({"distribution": "lognormal", "average": 50, "sigma": 1}, "lognormal needs an average"),
        ({"distribution": "zipf", "alpha": 1}, "zipf needs an alpha of more than 1"),
        ({"distribution": "poisson", "alpha": "x"}, "field 'alpha' is text"),
    ],
)
def test_descriptions_that_make_no_sense(fields: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ConfigError, match=rf"v\.json:3: .*{sentence}"):
        distribution(**fields)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"filetype": "else"}, "'filetype' = 'else' is no description of conversations"),
        ({"num_conversations": 0}, "must be 1 or more"),
        ({"prompt_output": None}, "field 'prompt_output' is missing"),
        ({"prompt_input": {}}, "field 'num_turns' is missing"),
        ({"text_files": [1]}, "no list of file names"),
    ],
)
def test_descriptions_that_miss_something(tmp_path: Path, changes: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence):
        described(tmp_path / "v.json", **changes)
