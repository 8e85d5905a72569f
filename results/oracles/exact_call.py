"""Oracle: is the reply the planted call, and nothing else?

Owns: comparing calls, and naming how they differ. It is the oracle that decides: a turn is never OK without it.
Does not own: labels of text that is no call at all (`salad`, `repetition`, `empty_reply`). Floor 3. Source: ours.
"""

from __future__ import annotations

from typing import Any

from results.findings import Finding, Kind, Severity
from results.oracles.context import JudgeContext, canonical_call
from results.oracles.contract import Oracle, passed, span_of, unknown, violated
from results.oracles.reply import Ending, ParsedCall, Reply, is_cut_planted, is_planted, is_same_json

NAME = "exact_call"

_NOT_JUDGED = {
    Ending.CUT: "the stream was cut before the reply had ended",
    Ending.ERROR: "the request failed, so there is no reply to judge",
    Ending.REFUSED: "a content filter ended the reply",
}


def judge(reply: Reply, context: JudgeContext) -> list[Finding]:
    if reply.is_planted:
        return passed(NAME)
    if reply.ending in _NOT_JUDGED:
        return unknown(NAME, _NOT_JUDGED[reply.ending])
    if reply.content_call is not None and is_planted(reply.turn, reply.content_call):
        # The engine said the right thing and the server's parser left it in the content.
        reason = "the planted call stands in the content: the tool-call parser missed it"
        quirk = violated(NAME, Kind.UNPARSED_CALL, reason, severity=Severity.NOTE)
        return [*passed(NAME), quirk]
    if reply.ending is Ending.LIMIT and (not context.exact_replies or is_cut_planted(reply)):
        return unknown(NAME, "the limit on tokens ended the reply before it could be judged")
    return [_deviation(reply, context)]


ORACLE = Oracle(NAME, "Is the reply the planted call?", judge)


def _deviation(reply: Reply, context: JudgeContext) -> Finding:
    expected = reply.turn.expected
    if not reply.calls and reply.content_call is None:
        text = reply.turn.content
        reason = f"no call to '{expected.name}'" + (", only text" if text.strip() else ": the reply is empty")
        return violated(NAME, Kind.LOST_CALL, reason, span=span_of("content", text, 0, len(text)))
    calls = reply.calls or (reply.content_call,)
    wrong = next((call for call in calls if call is not None and call.name != expected.name), None)
    if wrong is not None:
        reason = f"called '{wrong.name}' where '{expected.name}' was asked for{_provenance(reply, wrong, context)}"
        return violated(NAME, Kind.WRONG_CALL, reason, span=_whole(wrong))
    if len(calls) > 1:
        return violated(NAME, Kind.WRONG_CALL, f"{len(calls)} calls where one was asked for", span=_whole(calls[-1]))
    call = calls[0]
    assert call is not None, "a deviation without calls was handled above"
    provenance = _provenance(reply, call, context)
    if provenance:
        return violated(NAME, Kind.WRONG_CALL, f"another call of '{call.name}'{provenance}", span=_whole(call))
    if call.fault is not None:
        return violated(NAME, Kind.DAMAGED_ARGUMENTS, f"the arguments are {call.fault}", span=_whole(call))
    difference = first_difference(expected.arguments, call.arguments)
    return violated(NAME, Kind.DAMAGED_ARGUMENTS, f"argument {difference}", span=_whole(call))


def _whole(call: ParsedCall | None) -> Any:
    assert call is not None, "only a call that is there has a span"
    field = "content" if call.field == "content" else f"{call.field}.arguments"
    return span_of(field, call.text, 0, len(call.text))


def _provenance(reply: Reply, call: ParsedCall, context: JudgeContext) -> str:
    """Where a wrong call is the right one: a key of this session, or of another one."""
    if call.fault is not None or not context.planted:
        return ""
    places = context.planted.get(canonical_call(call.name, call.arguments), ())
    if not places:
        return ""
    session, turn = next((place for place in places if place[0] == reply.turn.session), places[0])
    owner = "of this session" if session == reply.turn.session else f"of session {session}"
    return f": it is the call planted for turn {turn} {owner}"


def first_difference(expected: Any, got: Any, path: str = "") -> str:
    """The first place where two JSON values differ, in words."""
    if isinstance(expected, dict) and isinstance(got, dict):
        for key in expected:
            if key not in got:
                return f"'{_joined(path, key)}' is missing"
            if not is_same_json(expected[key], got[key]):
                return first_difference(expected[key], got[key], _joined(path, key))
        extra = next(key for key in got if key not in expected)
        return f"'{_joined(path, extra)}' was not asked for"
    if isinstance(expected, list | tuple) and isinstance(got, list | tuple):
        for index, (one, other) in enumerate(zip(expected, got, strict=False)):
            if not is_same_json(one, other):
                return first_difference(one, other, f"{path}[{index}]")
        return f"'{path}' has {len(got)} items instead of {len(expected)}"
    return f"'{path}' is {_shown(got)} instead of {_shown(expected)}"


def _joined(path: str, key: str) -> str:
    return f"{path}.{key}" if path else key


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
