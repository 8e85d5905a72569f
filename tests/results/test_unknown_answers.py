"""Turns whose right answer nobody knows: what no model does by itself is found, and nothing else is called corrupt.

The clean corpus is prose of many kinds, with what its own prompt made likely; the planted one has what only a serving
side can do. Seeds are fixed.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from results.digest import digest_of
from results.findings import CORRUPTION_KINDS, Kind, Side, Verdict
from results.oracles.context import judge_context
from results.oracles.judge import judge_turn
from results.parquet import read_turns, turn_table, write_table
from results.records import SessionRecord, ToolCall, TurnRecord
from results.report.witness import expected_text
from results.summary import summarise
from results.verdict import RunVerdict
from tests.results.builders import TOOLS, call, context, manifest, measured, turn

SESSIONS = (
    SessionRecord(0, 0, 9, ("velarimot",), marks=("<|im_end|>", "<think>", "\ufffd"), scripts=("GREEK", "LATIN")),
    SessionRecord(1, 0, 9, ("bokidasun",)),
)
CONTEXT = judge_context(tools=TOOLS, sessions=SESSIONS, max_tokens=160)


def said(content: str, **changes: Any) -> TurnRecord:
    fields = {
        "content": content,
        "tool_calls": (),
        "finish_reason": "stop",
        "expected": None,
        "secrets": ("velarimot",),
    }
    return turn(**{**fields, **changes})


SOUND = (
    said("The river is long, and in places deep."),
    said("velarimot The river is long."),
    said("Use `<|im_end|>` so: text<|im_end|> ends a turn, and a <think> block begins the reasoning."),
    said("The file holds a broken character: caf\ufffd, as you wrote."),
    said("| a | b |\n|---|---|\n" + "| 1 | 2 |\n" * 6),
    said("The prompt is in Greek: το ποτάμι είναι μακρύ."),
    said("It was cut by the limit while it went on and", finish_reason="length"),
    said("", tool_calls=(call(),), finish_reason="tool_calls"),
    said(
        "", tool_calls=(call("cancel_table", "{}"), call("cancel_table", "{}", id="call_2")), finish_reason="tool_calls"
    ),
)


@pytest.mark.parametrize("sound", SOUND)
def test_sound_replies_pass(sound: TurnRecord) -> None:
    assert judge_turn(sound, CONTEXT).verdict is Verdict.OK


@pytest.mark.parametrize(
    ("planted", "kind"),
    [
        (said("bokidasun The river is long."), Kind.CROSS_TALK),
        (said("The river is bokidasun", finish_reason=None), Kind.CROSS_TALK),
        (said("The river\x00\x01 is"), Kind.TOKEN_SALAD),
        (said("река река 河 मार река 河 मार река"), Kind.TOKEN_SALAD),
        (said("The river <|endoftext|> is long"), Kind.CONTROL_TOKENS),
        (said("", tool_calls=(call(arguments='{"restaurant": "a <|im_start|> b"}'),)), Kind.CONTROL_TOKENS),
        (
            said("", tool_calls=(call(arguments='{"restaurant": "a </tool_call> b", "guests": 4}'),)),
            Kind.MISPLACED_MARKUP,
        ),
    ],
)
def test_what_no_model_does_by_itself_is_found(planted: TurnRecord, kind: Kind) -> None:
    judged = judge_turn(planted, CONTEXT)
    assert (judged.verdict, judged.kind) == (Verdict.VIOLATED, kind)
    assert judged.blame is not None
    assert judged.blame.side is Side.UNDECIDED


@pytest.mark.parametrize(
    ("doubtful", "kind"),
    [
        (said(""), Kind.EMPTY_REPLY),
        (said("and on " * 60, finish_reason="length"), Kind.REPETITION),
        (said("", tool_calls=(call("no_such_tool", "{}"),)), Kind.WRONG_CALL),
        (said("", tool_calls=(call(arguments='{"restaurant": 7}'),)), Kind.DAMAGED_ARGUMENTS),
        (said("", tool_calls=(call(arguments='{"restaurant": '),)), Kind.DAMAGED_ARGUMENTS),
        (said("The river", finish_reason=None), Kind.CUT_STREAM),
        (said("", error="gone", finish_reason=None), Kind.TRANSPORT_ERROR),
        (said("No.", finish_reason="content_filter"), Kind.REFUSED),
    ],
)
def test_what_a_model_may_do_by_itself_is_unknown(doubtful: TurnRecord, kind: Kind) -> None:
    judged = judge_turn(doubtful, CONTEXT)
    assert (judged.verdict, judged.kind, judged.blame) == (Verdict.UNKNOWN, kind, None)
    violated = [finding.kind for finding in judged.findings if finding.verdict is Verdict.VIOLATED]
    assert not any(kind in CORRUPTION_KINDS for kind in violated)


def test_marks_of_another_sessions_prompt_are_no_excuse() -> None:
    elsewhere = said("It ends with <|im_end|> and goes on", session=1, secrets=("bokidasun",))
    assert judge_turn(elsewhere, CONTEXT).kind is Kind.CONTROL_TOKENS


def test_the_limit_of_a_turn_goes_before_that_of_the_run() -> None:
    """Some servers report `tool_calls` where the limit cut a call (facts/formats.md Q13)."""
    cut = turn(tool_calls=(call(arguments='{"restaurant": "Lind'),), completion_tokens=12, finish_reason="tool_calls")
    assert judge_turn(cut, context(max_tokens=160)).verdict is Verdict.VIOLATED
    assert judge_turn(replace(cut, max_tokens=12), context(max_tokens=160)).verdict is Verdict.UNKNOWN


def story() -> list[TurnRecord]:
    return [
        said("The river is long.", session=at % 2, number=at // 2, secrets=SESSIONS[at % 2].secrets) for at in range(8)
    ]


def test_a_run_of_such_turns_can_be_clean_and_says_how_many_answers_were_known() -> None:
    turns = [*story(), turn(0, 8), turn(1, 8)]
    judgements = [judge_turn(one, context()) for one in turns]
    counted = measured(len(turns), running_max=4)
    summary = summarise(manifest(backend="live"), turns, judgements, measured=counted, run_dir="")
    assert (summary.verdict, summary.turns_judged, summary.turns_known) == (RunVerdict.CLEAN, 10, 2)
    assert "2 of the turns had a known answer" in summary.verdict_reason
    assert expected_text(turns[0]) == ""


def test_such_turns_come_back_from_tables_and_old_digests_stay(tmp_path: Path) -> None:
    turns = [replace(one, raw=None, max_tokens=at or None) for at, one in enumerate(story())]
    write_table(turn_table(turns, ()), tmp_path / "turns.parquet")
    assert read_turns(tmp_path / "turns.parquet") == turns
    assert digest_of([turn()], "", times_are_virtual=True) != digest_of(
        [turn(max_tokens=9)], "", times_are_virtual=True
    )


def test_calls_are_still_taken_apart() -> None:
    garbled = said("", tool_calls=(ToolCall("c", "book_table", '{"restaurant": "a\u0000b", "guests": 2}'),))
    assert judge_turn(garbled, CONTEXT).kind is Kind.TOKEN_SALAD
