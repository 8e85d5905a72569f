"""Corrupt, numeric or unknown: each verdict of the differential oracle has its case, and its controls can fail.

Floor: tests. Source: ours; the five behaviours are those of peers.md section 4.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from results.findings import Verdict
from results.oracles.divergence import Observed, TurnReplies, gated, judge_divergence, noise_floor
from results.oracles.judge import judge_turn
from results.oracles.logprobs import margin_at, tokens_of
from results.records import TurnRecord
from tests.results.builders import call, context, said, turn

WORDS = [f"w{number}" for number in range(60)]
SHIFT = 0.02


def spoken(words: list[str], shift: float = 0.0, margins: dict[int, float] | None = None, **changes: Any) -> TurnRecord:
    """The planted call behind words whose tokens have log-probability -0.5 (moved by `shift`) and one rival each."""
    content = []
    for index, word in enumerate(words):
        logprob = -0.5 + shift
        rival = logprob - (margins or {}).get(index, 3.0)
        best = [{"token": word, "logprob": logprob}, {"token": "else", "logprob": rival}]
        content.append({"token": word, "logprob": logprob, "top_logprobs": best})
    choice = {"index": 0, "delta": {"content": "".join(words)}, "logprobs": {"content": content}}
    return turn(content="".join(words), raw=f"data: {json.dumps({'choices': [choice]})}\n\n", **changes)


def replies(serial: tuple[TurnRecord, ...], loaded: tuple[TurnRecord, ...]) -> TurnReplies:
    judge = context()
    return TurnReplies(
        tuple(Observed(one, judge_turn(one, judge)) for one in serial),
        tuple(Observed(one, judge_turn(one, judge)) for one in loaded),
    )


AGREEING = replies((spoken(WORDS), spoken(WORDS)), (spoken(WORDS, SHIFT), spoken(WORDS, -SHIFT)))
FLIPPED = [*WORDS[:5], "else", *WORDS[6:]]


def flipped(margin: float) -> TurnReplies:
    return replies((spoken(WORDS, margins={5: margin}),) * 2, (spoken(FLIPPED, SHIFT), spoken(WORDS)))


def test_equal_replies_are_ok_and_give_the_noise_floor() -> None:
    report = judge_divergence([AGREEING])
    assert (report.verdict, report.load_differs) == (Verdict.OK, 0)
    assert report.noise.logprob == pytest.approx(SHIFT)
    assert report.noise.token_count == 3 * len(WORDS)


@pytest.mark.parametrize(
    ("margin", "verdict", "reason"),
    [
        (0.5 * SHIFT, Verdict.NUMERIC, "a near tie"),
        (1.9 * SHIFT, Verdict.NUMERIC, "a near tie"),
        (5.0 * SHIFT, Verdict.UNKNOWN, "too close to tell"),
        (0.9, Verdict.UNKNOWN, "too close to tell"),
        (1.1, Verdict.VIOLATED, "rounding does not bridge that"),
    ],
)
def test_the_margin_at_the_split_decides_where_the_planted_answer_is_right(
    margin: float, verdict: Verdict, reason: str
) -> None:
    report = judge_divergence([AGREEING, flipped(margin)])
    assert report.verdict is verdict
    assert reason in report.reason
    assert (report.aa_differs, report.load_differs) == (1, 1)


def test_a_planted_answer_that_only_load_breaks_is_corrupt_even_if_both_loads_agree() -> None:
    wrong = turn(tool_calls=(call(guests=5),))
    report = judge_divergence([replies((turn(), turn()), (wrong, wrong))])
    assert report.verdict is Verdict.VIOLATED
    assert "right when served alone, and under load: argument 'guests' is 5 instead of 4" in report.reason
    assert report.turns[0].is_repeatable, "a comparison of two loads would have called this clean"
    assert report.aa_differs == 0


def test_without_log_probabilities_a_difference_beside_the_right_call_is_unknown() -> None:
    report = judge_divergence([replies((turn(content="now"),) * 2, (turn(content="at once"),) * 2)])
    assert report.verdict is Verdict.UNKNOWN
    assert "no log-probability shows by how much" in report.reason


def test_too_few_tokens_are_no_noise_floor() -> None:
    few = replies((spoken(WORDS[:5]),) * 2, (spoken(WORDS[:5]),) * 2)
    assert noise_floor([few]).logprob is None
    tied = replies((spoken(WORDS[:8], margins={5: 0.001}),) * 2, (spoken(FLIPPED[:8]),))
    report = judge_divergence([few, tied])
    assert report.verdict is Verdict.UNKNOWN
    assert f"only {report.noise.token_count} tokens are there" in report.reason


def test_a_floor_of_nothing_does_not_make_a_near_tie_corrupt() -> None:
    """Replies that agree may be bit-identical although another batch shape rounds otherwise."""
    exact = replies((spoken(WORDS),) * 2, (spoken(WORDS),) * 2)
    tied = replies((spoken(WORDS, margins={5: 0.1}),) * 2, (spoken(FLIPPED),))
    report = judge_divergence([exact, tied])
    assert (report.noise.logprob, report.verdict) == (0.0, Verdict.UNKNOWN)


@pytest.mark.parametrize(
    ("serial", "loaded", "reason"),
    [
        ((turn(content="a"), turn(content="b")), (turn(content="a"),), "the serial replies differ from each other"),
        ((said("no call"),) * 2, (said("no call"),) * 2, "corrupt when served alone as well"),
        ((turn(),) * 2, (said("", finish_reason=None),), "1 of its replies could not be judged"),
    ],
)
def test_what_a_control_cannot_settle_is_unknown(
    serial: tuple[TurnRecord, ...], loaded: tuple[TurnRecord, ...], reason: str
) -> None:
    report = judge_divergence([replies(serial, loaded)])
    assert report.verdict is Verdict.UNKNOWN
    assert reason in report.reason


def test_one_corrupt_turn_outweighs_everything_and_unknown_outweighs_numeric() -> None:
    corrupt = replies((turn(), turn()), (said("gone"), turn()))
    unknown = replies((turn(content="a"),) * 2, (turn(content="b"),) * 2)
    numeric = flipped(0.5 * SHIFT)
    assert judge_divergence([AGREEING, numeric, unknown, corrupt]).verdict is Verdict.VIOLATED
    assert judge_divergence([AGREEING, numeric, unknown]).verdict is Verdict.UNKNOWN
    assert judge_divergence([AGREEING, numeric]).verdict is Verdict.NUMERIC
    assert judge_divergence([]).verdict is Verdict.UNKNOWN


def test_the_vacuity_gate_turns_all_but_corrupt_into_unknown() -> None:
    clean, corrupt = judge_divergence([AGREEING]), judge_divergence([replies((turn(),), (said("gone"),))])
    assert gated(clean, None) == (Verdict.OK, clean.reason)
    assert gated(clean, "nothing overlapped") == (Verdict.UNKNOWN, "nothing overlapped")
    assert gated(corrupt, "nothing overlapped")[0] is Verdict.VIOLATED


def test_a_rival_that_is_not_listed_is_at_least_as_far_as_the_last_one() -> None:
    token = tokens_of(spoken(["a"]))[0]
    for rival, is_exact in (("else", True), ("elsewhere", False)):
        margin, found_exact = margin_at(token, rival)
        assert margin == pytest.approx(3.0)
        assert found_exact is is_exact
    assert margin_at(replace(token, best=()), "x") == (0.0, False)
    assert tokens_of(turn()) == ()
