"""Oracle: is the reply right but for its first token?

Owns: the planted call behind one odd beginning, which is how a lost or foreign first token of the hand-off looks: the
rest of the reply follows from the prompt. Only what is planted can show it; a first token that differs from a serial
run's is a divergence (`divergence`). Floor 3. Source: ours.
"""

from __future__ import annotations

from unicodedata import category

from results.findings import Finding, Kind, Severity
from results.oracles.context import JudgeContext
from results.oracles.contract import Oracle, passed, span_of, violated
from results.oracles.reply import Ending, Reply
from results.oracles.same_json import is_same_json
from results.oracles.scripts import LATIN, scripts_of
from results.records import ExpectedCall

NAME = "first_token"

TOKEN_CHARACTERS_MAX = 16
"""Hardly any vocabulary has longer words, and a longer odd beginning is more than one token."""
UNSPACED_CHARACTERS_MAX = 4
"""Scripts without spaces say a whole sentence in a few letters."""


def judge(reply: Reply, context: JudgeContext) -> list[Finding]:
    expected = reply.turn.expected
    if reply.ending is not Ending.DONE or not reply.parts or expected is None:
        return []
    if reply.is_planted:
        return passed(NAME)
    return _wrong_name(reply, expected, context) or _odd_beginning(reply, expected) or passed(NAME)


ORACLE = Oracle(NAME, "Is the reply right but for its first token?", judge)


def _wrong_name(reply: Reply, expected: ExpectedCall, context: JudgeContext) -> list[Finding]:
    """One call, its arguments the planted ones, its name right but for the beginning."""
    if len(reply.calls) != 1:
        return []
    (call,) = reply.calls
    name = expected.name
    if call.name == name or context.schema(reply.turn.group, call.name) is not None:
        return []
    kept = _common_ending(call.name, name)
    is_beginning = len(name) - kept <= TOKEN_CHARACTERS_MAX and len(call.name) - kept <= TOKEN_CHARACTERS_MAX
    if call.fault is not None or not is_same_json(call.arguments, expected.arguments):
        return []
    if not is_beginning or 2 * kept < len(name):
        return []
    reason = f"the call is the planted one, and its name begins '{call.name[: len(call.name) - kept]}'"
    reason += f" instead of '{name[: len(name) - kept]}'"
    span = span_of(f"{call.field}.name", call.name, 0, len(call.name))
    return [violated(NAME, Kind.WRONG_FIRST_TOKEN, reason, span=span)]


def _odd_beginning(reply: Reply, expected: ExpectedCall) -> list[Finding]:
    """Text instead of a call: one token, and right behind it the planted call, bare.

    Markup between the two would be the call's own first token, and what stands before it a remark.
    """
    content, name = reply.turn.content, expected.name
    if reply.calls or reply.text_call is None:
        return []
    beginning, rest = content[: reply.text_call.begin].strip(), content[reply.text_call.begin :]
    is_bare = rest.lstrip(" ").startswith(name) and content[reply.text_call.arguments_begin] == "{"
    if not is_bare or not _is_one_token(beginning):
        return []
    reason = f"the planted call stands behind '{beginning}'"
    span = span_of("content", content, 0, len(content))
    return [violated(NAME, Kind.WRONG_FIRST_TOKEN, reason, severity=Severity.STRONG, span=span)]


def _is_one_token(text: str) -> bool:
    """One run of letters or digits, or one sign."""
    if len(text) == 1:
        return category(text) != "Po"
    limit = TOKEN_CHARACTERS_MAX if text.isascii() or LATIN in scripts_of(text) else UNSPACED_CHARACTERS_MAX
    return len(text) <= limit and text.isalnum()


def _common_ending(one: str, other: str) -> int:
    pairs = zip(reversed(one), reversed(other), strict=False)
    return next((index for index, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))
