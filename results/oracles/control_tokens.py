"""Oracle: does a control token stand in the reply?

Owns: tokens that a server strips from every sound reply. One in the middle of a text was sampled there. One at the
very edge was only not stripped, as at concurrency one: a note. Tokens that are also ordinary text only name a reply
that is known to be wrong. Does not own: tags of calls and of reasoning (`markup`). Floor 3. Source: ours.
"""

from __future__ import annotations

from results.findings import Finding, Kind, Severity
from results.oracles.context import JudgeContext
from results.oracles.contract import Oracle, passed, span_of, violated
from results.oracles.exact_call import is_known_wrong
from results.oracles.marks import Mark, MarkKind, is_boundary, marks_in
from results.oracles.reply import Ending, Reply

NAME = "control_tokens"
AROUND_CHARACTERS = 40
TAIL_CHARACTERS = 16
"""So near to the place where a reply was cut, what would have explained a token may be missing ("the <|x|> tok")."""

_OF_A_CALL = ("<|start|>", "<|channel|>", "<|constrain|>", "<|message|>", "<|call|>")
"""What GPT-OSS writes a call with; a parser that misses the call leaves them too."""


def judge(reply: Reply, context: JudgeContext) -> list[Finding]:
    if not reply.parts:
        return []
    unstripped: list[Finding] = []
    for field, text in reply.doubtful_parts:
        for mark in marks_in(text):
            if mark.kind not in (MarkKind.CONTROL, MarkKind.AMBIGUOUS) or _is_excused(mark, text, reply, context):
                continue
            span = span_of(field, text, max(0, mark.begin - AROUND_CHARACTERS), mark.end + AROUND_CHARACTERS)
            if field == "content" and is_boundary(mark) and _is_at_edge(mark, text):
                reason = f"the server did not strip '{mark.text}' from the edge of the reply"
                unstripped.append(violated(NAME, Kind.UNPARSED_MARKUP, reason, severity=Severity.NOTE, span=span))
            elif mark.kind is MarkKind.CONTROL or is_known_wrong(reply, context):
                reason = f"the control token '{mark.text}' stands in the reply"
                severity = Severity.PROOF if context.exact_replies else Severity.STRONG
                return [violated(NAME, Kind.CONTROL_TOKENS, reason, severity=severity, span=span)]
    return unstripped[:1] or passed(NAME)


ORACLE = Oracle(NAME, "Does a control token stand in the reply?", judge)


def _is_excused(mark: Mark, text: str, reply: Reply, context: JudgeContext) -> bool:
    if reply.ending is not Ending.DONE and mark.end > len(text) - TAIL_CHARACTERS:
        return True
    call = reply.text_call
    if call is not None and mark.text in _OF_A_CALL:
        return call.begin <= mark.begin and not text[call.end : mark.begin].strip()
    return context.is_in_prompts(mark.text, reply.turn.session) or mark.text in reply.expected_text


def _is_at_edge(mark: Mark, text: str) -> bool:
    return not text[: mark.begin].strip() or not text[mark.end :].strip()
