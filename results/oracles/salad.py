"""Oracle: is the text token salad?

Owns: measures of a text, each of which can be checked by eye. Two stand on their own, since sound text does not reach
them: characters that no text holds, and several writing systems woven together where neither the prompt nor the
planted call has them. The others only *name* a reply that is known to be wrong, so they cannot raise a false alarm.
Does not own: fluent nonsense. Salad made of whole words in good order would pass here; `exact_call` catches it.
Floor 3. Source: ours.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise
from unicodedata import category

from results.findings import Finding, Kind, Severity, Span
from results.oracles import exact_call
from results.oracles.context import JudgeContext
from results.oracles.contract import Oracle, passed, span_of, violated
from results.oracles.marks import is_quoted
from results.oracles.reply import Ending, Reply
from results.oracles.scripts import LATIN, scripts_of, word_scripts

NAME = "token_salad"

SCRIPT_COUNT_MIN = 2
SCRIPT_RETURNS_MIN = 3
WORD_COUNT_MIN = 3
"""Fewer words than this are a short wrong answer, not a salad."""
ODD_SHARE_MIN = 0.25
"""Prose has below 0.08 (measured in the tests' languages), formulas up to 0.21; pieces of JSON and code far more."""
ODD_CHARACTERS_MIN = 40
"""In a shorter text one number is a large share."""

_BROKEN = re.compile("[\x00-\x07\x0e-\x1a\x1c-\x1f\x7f\x80-\x84\x86-\x9f\ufdd0-\ufdef\ufffd\ufffe\uffff]")
_SIGNS = frozenset({"Pd", "Ps", "Pe", "Pi", "Pf", "Po", "Sm", "Sc", "Sk", "So"})
"""Categories of signs; the underscore is none, since it joins."""
_ODD = re.compile(r"[{}\[\]<>_=|\\/*+^~@#$%&\"\d]")


def judge(reply: Reply, context: JudgeContext) -> list[Finding]:
    if not reply.parts and not reply.turn.reasoning:
        return []
    for field, text in reply.heard_parts:
        found = _broken_characters(reply, field, text, context) or _woven_scripts(reply, field, text, context)
        if found is not None:
            return [found]
    found = None if reply.is_planted else _wrong_reply(reply, context)
    return passed(NAME) if found is None else [found]


ORACLE = Oracle(NAME, "Is the text token salad?", judge)


def _salad(reason: str, span: Span) -> Finding:
    return violated(NAME, Kind.TOKEN_SALAD, reason, severity=Severity.STRONG, span=span)


def _broken_characters(reply: Reply, field: str, text: str, context: JudgeContext) -> Finding | None:
    """Replacement and control characters, but where a text speaks of one in quotes, or the prompts hold it already. At
    the very end of a reply they are half a character, cut by a limit."""
    if reply.ending is not Ending.DONE:
        text = text.rstrip("\ufffd")
    session, known = reply.turn.session, reply.expected_text
    match = next(
        (
            found
            for found in _BROKEN.finditer(text)
            if not is_quoted(text, *found.span())
            and found[0] not in known
            and not context.is_in_prompts(found[0], session)
        ),
        None,
    )
    if match is None:
        return None
    reason = f"{len(_BROKEN.findall(text))} characters that no text holds (first: U+{ord(match[0]):04X})"
    return _salad(reason, span_of(field, text, max(0, match.start() - 40), match.end() + 40))


@dataclass(frozen=True, slots=True)
class Weave:
    """Scripts that take turns: which, how often one comes back inside a line, from which character to which."""

    scripts: frozenset[str]
    returns: int
    begin: int
    end: int


def _woven_scripts(reply: Reply, field: str, text: str, context: JudgeContext) -> Finding | None:
    """Foreign scripts that take turns inside a line. A list of translations changes script from line to line."""
    weave = _weave(reply, text, context, SCRIPT_RETURNS_MIN)
    if weave is None:
        return None
    turns = f"words in {_named(weave)} take turns ({weave.returns} returns)"
    return _salad(f"{turns}, and neither prompt nor call has them", span_of(field, text, weave.begin, weave.end))


def _weave(reply: Reply, text: str, context: JudgeContext, returns_min: int) -> Weave | None:
    """Scripts of the prompt, the tools and the planted call are allowed; and Latin, which mixes with every other."""
    if text.isascii():
        return None
    allowed = context.tool_scripts | context.scripts.get(reply.turn.session, frozenset()) | {LATIN}
    # Most texts have one foreign script or none, and end here.
    if len(scripts_of(text) - allowed) < SCRIPT_COUNT_MIN:
        return None
    planted = frozenset(script for script, _, _ in word_scripts(reply.expected_text))
    return weave_of(text, allowed | planted, returns_min)


def weave_of(text: str, allowed: frozenset[str], returns_min: int = SCRIPT_RETURNS_MIN) -> Weave | None:
    """The weave of a text's scripts besides the allowed ones, if there is enough of it to be no accident."""
    seen: set[str] = set()
    returns, offset = 0, 0
    places: list[int] = []
    for line in text.splitlines(keepends=True):
        words = [word for word in word_scripts(line) if word[0] not in allowed]
        if words:
            seen.update(script for script, _, _ in words)
            returns += _returns(line, words)
            places += (offset + words[0][1], offset + words[-1][2])
        offset += len(line)
    if len(seen) < SCRIPT_COUNT_MIN or returns < returns_min:
        return None
    return Weave(frozenset(seen), returns, places[0], places[-1])


def _returns(line: str, words: list[tuple[str, int, int]]) -> int:
    """How often a line comes back to a script that it had left, with no sign in between.

    Translations set their words apart: by commas, quotes, brackets, dashes. Words that follow no prompt just follow
    each other.
    """
    returns = 0
    seen = {words[0][0]}
    for (before, _, end), (here, begin, _) in pairwise(words):
        if before == here:
            continue
        if any(category(character) in _SIGNS for character in line[end:begin]):
            seen = set()
        returns += here in seen
        seen.add(here)
    return returns


def _wrong_reply(reply: Reply, context: JudgeContext) -> Finding | None:
    """Name a reply that `exact_call` has already found wrong: is its text salad, or a sound but wrong answer?"""
    if reply.content_call is not None or not exact_call.is_known_wrong(reply, context):
        return None
    parts = [(f"{call.field}.arguments", call.text) for call in reply.calls if call.fault is not None]
    if not reply.calls:
        parts = [("content", reply.turn.content)]
    for field, text in parts:
        reason = _why_wrong_text_is_salad(reply, text, context)
        if reason is not None:
            return _salad(reason, span_of(field, text, 0, len(text)))
    return None


def _why_wrong_text_is_salad(reply: Reply, text: str, context: JudgeContext) -> str | None:
    # Here two foreign scripts need not take turns: no sound answer is at stake.
    weave = _weave(reply, text, context, returns_min=0)
    if weave is not None:
        return f"words in {_named(weave)} in place of the call"
    words = text.split()
    foreign = [word for word in words if word not in reply.expected_text]
    if len(foreign) < WORD_COUNT_MIN:
        return None
    counted = f"{len(foreign)} of {len(words)} words are not of the planted call"
    if context.exact_replies:
        return f"{counted}, and the model under test can say nothing else"
    odd = odd_share(text)
    if odd >= ODD_SHARE_MIN and len("".join(words)) >= ODD_CHARACTERS_MIN and "```" not in text:
        return f"{odd:.0%} of the characters are brackets, quotes, digits and signs in no valid order; {counted}"
    return None


def broken_characters(text: str) -> frozenset[str]:
    """Those that no text should hold, as this one does."""
    return frozenset(_BROKEN.findall(text))


def odd_share(text: str) -> float:
    """Share of brackets, quotes, digits and signs among the characters that are no white space."""
    return len(_ODD.findall(text)) / max(1, len("".join(text.split())))


def _named(weave: Weave) -> str:
    return " and ".join(sorted(name.title() for name in weave.scripts))
