"""Protocol quirks are never corruption: the planted reply, sent in every odd shape that public servers send it in.

Owns: streams by their number in facts/formats.md section 3, from the bytes through our client to the verdict. Each
carries the planted call (then the verdict must be OK), or nothing that could be judged (then UNKNOWN). Floor: tests.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from harness.transport.contract import Reply
from harness.transport.reply import ReplyBuilder
from results.findings import Judgement, Verdict
from results.oracles.judge import judge_turn
from results.records import TurnRecord
from tests.harness.transport.streams import DONE, call, chunk, event, read
from tests.results.builders import EXPECTED, context, turn

NAME, TEXT = EXPECTED.name, json.dumps(EXPECTED.arguments, ensure_ascii=False)
HALF = len(TEXT) // 2
HELLO = chunk({"role": "assistant", "content": "Ich prüfe das 📦."})
USAGE: dict[str, Any] = {"prompt_tokens": 9, "completion_tokens": 20}


def end(reason: str | None = "tool_calls", **top: Any) -> str:
    return chunk({}, reason=reason, **top) + DONE


def pieces(first: dict[str, Any], second: dict[str, Any]) -> str:
    """The call in two deltas, with what each of them has besides."""
    return chunk(call(TEXT[:HALF], name=NAME, **first)) + chunk(call(TEXT[HALF:], **second))


PLAIN = pieces({"index": 0, "id": "a"}, {"index": 0})
WHOLE = chunk(call(TEXT, index=0, id="a", name=NAME))
BODY = json.dumps({"name": NAME, "arguments": EXPECTED.arguments})
SOUND = {
    "Q1 normal": PLAIN + end(),
    "Q2 null id and name": pieces({"index": 0, "id": "a"}, {"index": 0, "id": None, "name": None}) + end(),
    "Q3 empty id": pieces({"index": 0, "id": "a"}, {"index": 0, "id": "", "name": ""}) + end(),
    "Q4 id repeated": pieces({"index": 0, "id": "0"}, {"index": 0, "id": "0", "name": NAME}) + end(),
    "Q5 no index": pieces({"id": "a"}, {}) + end(),
    "Q6 index 0": WHOLE + end(),
    "Q7 two entries, one index": chunk(
        {
            "tool_calls": [
                {"index": 0, "id": "a", "function": {"name": NAME, "arguments": ""}},
                {"index": 0, "function": {"arguments": TEXT}},
            ]
        }
    )
    + end(),
    "Q8 name in pieces": chunk(call("", index=0, id="a", name=NAME[:4]))
    + chunk(call("", index=0, name=NAME[4:]))
    + chunk(call(TEXT, index=0))
    + end(),
    "Q9 all at once": HELLO + WHOLE + end(),
    "Q10 arguments are an object": chunk(call(EXPECTED.arguments, index=0, id="a", name=NAME)) + end(),
    "Q11 another response id each": PLAIN.replace('"id": "c"', '"id": "d"', 1) + end(),
    "Q12 stop with calls": PLAIN + end("stop"),
    "Q15 usage after the end": PLAIN + chunk({}, reason="tool_calls") + event({"choices": [], "usage": USAGE}) + DONE,
    "Q16 usage in every chunk": chunk(call(TEXT, index=0, id="a", name=NAME), usage=USAGE) + end(usage=USAGE),
    "Q17 reasoning_content": chunk({"reasoning_content": "Hm. <think>"}) + PLAIN + end(),
    "Q17 reasoning": chunk({"reasoning": "Hm."}) + PLAIN + end(),
    "Q18 nulls": chunk({"content": None, "tool_calls": None, "role": None}) + PLAIN + end(),
    "Q19 extra fields": chunk({"content": ""}, timings={"cache_n": 3}, system_fingerprint="x") + PLAIN + end(),
    "Q20 keep-alives": ": ping\n\n:\n\n" + PLAIN + ": OPENROUTER PROCESSING\n\n" + end(),
    "Q21 comment and blank line": ": x\n\n\n\n" + PLAIN + end(),
    "Q22 comments in data": 'data: : ping\n\ndata: ""\n\n' + PLAIN + end(),
    "Q23 CRLF": (HELLO + PLAIN + end()).replace("\n", "\r\n"),
    "Q23 CR": (HELLO + PLAIN + end()).replace("\n", "\r"),
    "Q24 no space": (PLAIN + end()).replace("data: ", "data:"),
    "Q31 no [DONE]": PLAIN + chunk({}, reason="tool_calls"),
    "Q32 [DONE] with spaces": PLAIN + chunk({}, reason="tool_calls") + "data:  [DONE] \n\n",
    "Q34 call left in the content": chunk({"content": f"<tool_call>\n{BODY}\n</tool_call>"}) + end("stop"),
    "Q34 the same, cut between deltas": chunk({"content": f"<tool_call>\n{BODY[:9]}"})
    + chunk({"content": f"{BODY[9:]}\n</tool_call>"})
    + end("stop"),
}
UNJUDGED = {
    "Q13 tool_calls, cut by the limit": chunk(call(TEXT[:HALF], index=0, id="a", name=NAME))
    + end(usage=USAGE | {"completion_tokens": 64}),
    "Q14 abort": HELLO + end("abort"),
    "Q27 error in a 200 stream": HELLO + event({"error": {"message": "scheduler abort"}}) + DONE,
    "Q28 error_type": event({"error_type": "x", "error_message": "overloaded"}) + DONE,
    "Q29 error line": HELLO + 'error: {"code": 500, "message": "x"}\n\n',
    "Q30 bare JSON error": HELLO + '{"error": {"message": "x"}}\n',
    "Q31 cut in the call": HELLO + chunk(call(TEXT[:HALF], index=0, id="a", name=NAME)),
    "Q31 cut in the text": HELLO,
    "Q36 nothing at all": "",
    "Q38 with an error": event({"error": "no tokens"}),
}


def record(reply: Reply) -> TurnRecord:
    """The turn as the load generator stores it."""
    usage = reply.usage
    return turn(
        content=reply.content,
        tool_calls=reply.tool_calls,
        finish_reason=reply.finish_reason,
        completion_tokens=usage.completion_tokens if usage else None,
        error=None if reply.error is None else str(reply.error),
        raw=reply.raw,
    )


def judged(stream: str | bytes, cuts: tuple[int, ...] = ()) -> Judgement:
    return judge_turn(record(read(stream, cuts=cuts)), context(max_tokens=64))


@pytest.mark.parametrize("name", SOUND)
def test_a_sound_reply_in_an_odd_shape_is_ok(name: str) -> None:
    stream = SOUND[name].encode()
    assert judged(stream).verdict is Verdict.OK
    # Q25, Q23: whatever byte the network cuts at.
    assert judged(stream, tuple(range(1, len(stream), 7))).verdict is Verdict.OK


@pytest.mark.parametrize("name", UNJUDGED)
def test_a_reply_that_never_came_whole_is_unknown(name: str) -> None:
    judgement = judged(UNJUDGED[name])
    assert judgement.verdict is Verdict.UNKNOWN
    assert judgement.kind is not None
    assert not judgement.kind.is_corruption


def test_damage_is_still_seen_through_the_same_shapes() -> None:
    """The twin: were all quirks let through blindly, nothing would be found."""
    damaged = TEXT.replace("Lindenhof", "Lindenof")
    raw = chunk(call(damaged, index=0, id="a", name=NAME)) + end("stop")
    assert judged(raw).verdict is Verdict.VIOLATED
    left = chunk({"content": f"<tool_call>\n{BODY.replace('Lindenhof', 'Lindenof')}\n</tool_call>"}) + end("stop")
    assert judged(left).verdict is Verdict.VIOLATED


def test_q33_a_wrapped_body_and_q35_q37_another_protocol_never_become_corruption() -> None:
    message = {"content": None, "tool_calls": [{"id": "a", "function": {"name": NAME, "arguments": TEXT}}]}
    builder = ReplyBuilder(status=200)
    body = {"data": {"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}, "success": True}
    builder.body(json.dumps(body).encode(), now_ns=0)
    assert judge_turn(record(builder.reply(end_ns=1)), context()).verdict is Verdict.OK
    anthropic = (
        'event: error\ndata: {"type": "error", "error": {"error": {"type": "overloaded_error", "message": "x"}}}\n\n'
    )
    assert judged(anthropic).verdict is Verdict.UNKNOWN
    begun = 'event: message_start\ndata: {"type": "message_start", "message": {"content": []}}\n\n'
    assert judged(begun).verdict is Verdict.UNKNOWN
