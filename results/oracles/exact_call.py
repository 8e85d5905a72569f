"""Oracle: is the reply the planted call, and nothing else?

Owns: comparing calls, and naming how they differ. It is the oracle that decides where a call was planted. Where nobody
knows the right answer it only says which replies cannot be judged at all.
Does not own: labels of text that is no call at all (`salad`, `repetition`, `empty_reply`). Floor 3. Source: ours.
"""

from __future__ import annotations

from typing import Any

from results.findings import Finding, Kind, Severity, Verdict
from results.oracles.context import JudgeContext, canonical_call
from results.oracles.contract import Oracle, passed, span_of, unknown, violated
from results.oracles.raw_reply import read_raw_reply
from results.oracles.reply import Ending, ParsedCall, Reply, is_cut_planted
from results.oracles.same_json import is_same_json
from results.oracles.text_call import planted_in
from results.records import ExpectedCall

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
    expected = reply.turn.expected
    if expected is None:
        return []
    place = _unparsed_place(reply, expected, context)
    if place is not None:
        # The engine said the right thing and the server's parser left it there.
        reason = f"the planted call stands in the {place}: the tool-call parser missed it"
        quirk = violated(NAME, Kind.UNPARSED_CALL, reason, severity=Severity.NOTE)
        return [*passed(NAME), quirk]
    if reply.ending is Ending.LIMIT and (not context.exact_replies or is_cut_planted(reply)):
        return unknown(NAME, "the limit on tokens ended the reply before it could be judged")
    return [_deviation(reply, expected, context)]


ORACLE = Oracle(NAME, "Is the reply the planted call?", judge)


def is_known_wrong(reply: Reply, context: JudgeContext) -> bool:
    """Oracles that would be too bold on sound text may name what is wrong in any case."""
    return any(finding.verdict is Verdict.VIOLATED for finding in judge(reply, context)[:1])


def _unparsed_place(reply: Reply, expected: ExpectedCall, context: JudgeContext) -> str | None:
    """Where the planted call stands in so many words, if that is what the engine said."""
    if reply.calls:
        return None
    if reply.text_call is not None:
        is_alone = not reply.turn.content[: reply.text_call.begin].strip()
        return "content" if is_alone or not context.exact_replies else None
    raw = read_raw_reply(reply.turn.raw) if reply.is_blank and reply.turn.raw else None
    return "reasoning" if raw is not None and planted_in(raw.reasoning, expected) is not None else None


def _deviation(reply: Reply, expected: ExpectedCall, context: JudgeContext) -> Finding:
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
    reason = f"argument {difference}{_lost_secret(reply, call)}"
    return violated(NAME, Kind.DAMAGED_ARGUMENTS, reason, span=_whole(call))


def _lost_secret(reply: Reply, call: ParsedCall) -> str:
    """A secret word is random, so a model cannot get it nearly right by guessing: it was read, and damaged."""
    lost = [word for word in reply.turn.secrets if word in reply.expected_text and word not in call.text]
    return f"; the secret word '{lost[0]}' did not come back" if lost else ""


def _whole(call: ParsedCall | None) -> Any:
    assert call is not None, "only a call that is there has a span"
    field = "content" if call.field == "content" else f"{call.field}.arguments"
    return span_of(field, call.text, 0, len(call.text))


def _provenance(reply: Reply, call: ParsedCall, context: JudgeContext) -> str:
    """Where a wrong call is the right one: a key of this session, or of another one."""
    if call.fault is not None or not context.planted:
        return ""
    try:
        places = context.planted.get(canonical_call(call.name, call.arguments), ())
    except RecursionError:
        # Every planted call could be spelled, so this is none of them.
        return ""
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
    try:
        text = repr(value)
    except RecursionError:
        return "nested too deep to be shown"
    return text if len(text) <= 60 else text[:57] + "..."
