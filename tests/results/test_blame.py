"""Parser or engine? Each side has a case that can only be its own. Floor: tests."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from results.findings import Side
from results.oracles.judge import judge_turn
from results.oracles.raw_reply import is_faithful, read_raw_reply
from results.records import TurnRecord
from tests.harness.transport.streams import DONE, chunk
from tests.harness.transport.streams import call as delta
from tests.results.builders import EXPECTED, call, context, said, turn

ARGUMENTS = json.dumps(EXPECTED.arguments)
PLANTED = f"{EXPECTED.name} {ARGUMENTS}"


def streamed(record: TurnRecord, *deltas: object) -> TurnRecord:
    """The turn, and the raw text of a stream of these deltas."""
    return replace(record, raw="".join(map(chunk, deltas)) + chunk({}, reason="stop") + DONE)


@pytest.mark.parametrize(
    ("record", "side", "reason"),
    [
        (said("I see."), Side.UNDECIDED, "no raw text is stored"),
        (replace(said("I see."), raw="data: [DONE]\n\n"), Side.UNDECIDED, "holds no answer"),
        (
            streamed(said("I see.", completion_tokens=3), {"content": "I see."}),
            Side.ENGINE,
            "'see' is in no part of the planted call",
        ),
        (streamed(said("I see."), {"content": "I have seen."}), Side.CLIENT, "something else than what arrived"),
        (streamed(said(""), {"content": ""}), Side.PARSER, "the server counts 24 tokens and sent 0 characters"),
        (streamed(replace(said(""), completion_tokens=1), {"content": ""}), Side.ENGINE, "no more than 1 tokens"),
        (
            streamed(turn(tool_calls=(call(arguments="{}"),), completion_tokens=3), delta("{}", name=EXPECTED.name)),
            Side.UNDECIDED,
            "the engine or the parser lost the rest",
        ),
        (
            streamed(
                turn(tool_calls=(call(guests=5),)),
                {"content": "", "reasoning": PLANTED},
                delta(json.dumps(EXPECTED.arguments | {"guests": 5}), name=EXPECTED.name),
            ),
            Side.PARSER,
            "the planted call stands whole in the reasoning",
        ),
    ],
)
def test_the_side_follows_from_the_raw_text(record: TurnRecord, side: Side, reason: str) -> None:
    judgement = judge_turn(record, context())
    assert judgement.blame is not None
    assert judgement.blame.side is side
    assert reason in judgement.blame.reason


def test_a_sound_turn_blames_nobody() -> None:
    assert judge_turn(turn(), context()).blame is None


def test_a_call_that_stayed_in_the_reasoning_is_the_parsers_fault_and_no_corruption() -> None:
    record = streamed(
        said(""), {"content": None, "reasoning_content": PLANTED[:10]}, {"reasoning_content": PLANTED[10:]}
    )
    judgement = judge_turn(record, context())
    assert not judgement.findings[0].kind or not judgement.findings[0].kind.is_corruption
    assert "the planted call stands in the reasoning" in judgement.findings[0].reason


def test_raw_text_is_read_whatever_its_line_ends_and_its_form() -> None:
    events = chunk({"content": "he", "reasoning": "hm"}) + chunk({"content": "llo"})
    for raw in (events, events.replace("\n", "\r\n"), events.replace("\n", "\r"), ": ping\n\n" + events + "data: {cut"):
        read = read_raw_reply(raw)
        assert read is not None
        assert (read.content, read.reasoning) == ("hello", "hm")
    body = json.dumps({"choices": [{"index": 0, "message": {"content": "hello", "tool_calls": None}}]})
    for raw in (body, json.dumps({"data": json.loads(body), "success": True})):
        read = read_raw_reply(raw)
        assert read is not None
        assert read.content == "hello"
    assert read_raw_reply("<html>502</html>") is None


def test_parallel_calls_that_come_interleaved_are_kept_faithfully() -> None:
    calls = (call("find", '{"x": 1}'), call("send", '{"y": 2}'))
    raw = [delta('{"x"', index=0, name="find"), delta('{"y": 2}', index=1, name="send"), delta(": 1}", index=0)]
    read = read_raw_reply("".join(map(chunk, raw)))
    assert read is not None
    assert is_faithful(turn(tool_calls=calls), read)
    assert not is_faithful(turn(tool_calls=calls[:1]), read)
