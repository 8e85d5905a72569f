"""Oracle: is markup of calls or of reasoning in the wrong place?

Owns: tags inside arguments and names, tags inside words, and blocks that are opened or closed once too often. Whole
markup in the content is a parser that was not switched on or missed it: a note, and never corruption. Where a tag is
missing and the reply is otherwise right, either side may have lost it: UNKNOWN. Floor 3. Source: ours.
"""

from __future__ import annotations

from collections.abc import Sequence

from results.findings import Finding, Kind, Severity, Span, Verdict
from results.oracles.context import JudgeContext
from results.oracles.contract import Oracle, passed, span_of, violated
from results.oracles.exact_call import is_known_wrong
from results.oracles.marks import Mark, MarkKind, marks_in
from results.oracles.reply import Ending, Reply

NAME = "markup"

_REASONING = (MarkKind.REASONING_OPEN, MarkKind.REASONING_CLOSE)
_CALLS = (MarkKind.CALL_OPEN, MarkKind.CALL_CLOSE, MarkKind.CALL_OTHER)


def judge(reply: Reply, context: JudgeContext) -> list[Finding]:
    if not reply.parts:
        return []
    for field, text in reply.doubtful_parts:
        marks = [
            mark
            for mark in marks_in(text)
            if mark.kind in (*_REASONING, *_CALLS) and not _is_asked_for(mark, reply, context)
        ]
        if marks:
            return [_finding(reply, context, field, text, marks)]
    return passed(NAME)


ORACLE = Oracle(NAME, "Is markup in its own channel?", judge)


def _is_asked_for(mark: Mark, reply: Reply, context: JudgeContext) -> bool:
    """The prompts or tools speak of it, or the planted call holds it."""
    if context.is_in_prompts(mark.text, reply.turn.session):
        return True
    spelled = reply.text_call
    if spelled is not None:
        return spelled.arguments_begin <= mark.begin < spelled.end
    return mark.text in reply.expected_text


def _finding(reply: Reply, context: JudgeContext, field: str, text: str, marks: Sequence[Mark]) -> Finding:
    span = span_of(field, text, marks[0].begin, marks[-1].end)
    if field != "content":
        return _misplaced(f"'{marks[0].text}' stands in {field}", span, Severity.PROOF)
    inside = next((mark for mark in marks if mark.kind is not MarkKind.CALL_OTHER and _is_in_word(mark, text)), None)
    if inside is not None:
        return _misplaced(f"'{inside.text}' stands inside a word", span)
    fault = _reasoning_fault(marks) or _call_fault(marks)
    if fault is None:
        return _note(f"the server's parser left {marks[0].text} in the content", span)
    if is_known_wrong(reply, context):
        return _misplaced(fault, span)
    if reply.is_planted or reply.ending is not Ending.DONE:
        return _note(f"{fault}; the call is whole" if reply.is_planted else f"{fault}, in a reply that was cut", span)
    reason = f"{fault}: the engine may have lost the tag, or the parser"
    return Finding(NAME, Verdict.UNKNOWN, reason, Kind.UNPARSED_MARKUP, Severity.NOTE, span)


def _reasoning_fault(marks: Sequence[Mark]) -> str | None:
    """Blocks follow each other. A first close without its open is the open that the prompt already held."""
    depth = 0
    for index, mark in enumerate(mark for mark in marks if mark.kind in _REASONING):
        depth += 1 if mark.kind is MarkKind.REASONING_OPEN else -1
        if depth == -1 and index == 0:
            depth = 0
        if depth not in (0, 1):
            return f"'{mark.text}' stands where no reasoning was {'closed' if depth > 1 else 'opened'}"
    return "reasoning was opened and never closed" if depth else None


def _call_fault(marks: Sequence[Mark]) -> str | None:
    opened = sum(mark.kind is MarkKind.CALL_OPEN for mark in marks)
    closed = sum(mark.kind is MarkKind.CALL_CLOSE for mark in marks)
    # `[TOOL_CALLS]` and `<|python_tag|>` have no closing half, nor has `<function=...>` that ends the text.
    alone = sum(mark.text in ("[TOOL_CALLS]", "<|python_tag|>") or mark.text[:10] == "<function=" for mark in marks)
    if closed > opened:
        return "a call was closed that was never opened"
    return "a call was opened and never closed" if opened - alone > closed else None


def _is_in_word(mark: Mark, text: str) -> bool:
    before, after = text[mark.begin - 1 : mark.begin], text[mark.end : mark.end + 1]
    # Scripts without spaces put a tag between two letters anyway.
    return (before + after).isascii() and before.isalpha() and after.islower()


def _misplaced(reason: str, span: Span, severity: Severity = Severity.STRONG) -> Finding:
    return violated(NAME, Kind.MISPLACED_MARKUP, reason, severity=severity, span=span)


def _note(reason: str, span: Span) -> Finding:
    return violated(NAME, Kind.UNPARSED_MARKUP, reason, severity=Severity.NOTE, span=span)
