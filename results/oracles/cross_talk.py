"""Oracle: does the reply hold a word that only another session knows?

Owns: the hardest proof there is. Nothing but the serving side can put another session's secret into a reply, so this
is judged on whatever arrived, even where the stream was cut. Floor 3. Source: ours.
"""

from __future__ import annotations

from collections.abc import Iterable

from results.findings import Finding, Kind
from results.oracles.context import JudgeContext
from results.oracles.contract import Oracle, passed, span_of, violated
from results.oracles.reply import Reply

NAME = "cross_talk"


def judge(reply: Reply, context: JudgeContext) -> list[Finding]:
    if not _has_foreign_secrets(reply, context):
        return []
    for field, text in reply.heard_parts:
        found = _foreign_secret(reply, text, context)
        if found is not None:
            secret, begin = found
            owners = ", ".join(map(str, sorted(context.secrets.owners[secret])[:3]))
            reason = f"'{secret}' is a secret of session {owners}, which session {reply.turn.session} never saw"
            return [violated(NAME, Kind.CROSS_TALK, reason, span=span_of(field, text, begin, begin + len(secret)))]
    return passed(NAME)


ORACLE = Oracle(NAME, "Is another session's secret in the reply?", judge)


def _has_foreign_secrets(reply: Reply, context: JudgeContext) -> bool:
    return len(context.secrets.owners) > len(reply.turn.secrets)


def _foreign_secret(reply: Reply, text: str, context: JudgeContext) -> tuple[str, int] | None:
    words, owners = context.secrets.words, context.secrets.owners
    # Most replies end here: no stretch of their text begins any secret.
    for head in _heads_in(text, context):
        for secret in words[head]:
            is_own = reply.turn.session in owners[secret] or secret in reply.turn.secrets
            if not is_own and secret in text and secret not in reply.expected_text:
                return secret, text.index(secret)
    return None


def _heads_in(text: str, context: JudgeContext) -> Iterable[str]:
    """Which beginnings of secrets stand in the text. Looking for each one is faster in a long text, and taking the text
    apart is faster where there are many secrets."""
    width, words = context.secrets.width, context.secrets.words
    if len(words) < len(text):
        return [head for head in words if head in text]
    return words.keys() & {text[begin : begin + width] for begin in range(len(text) - width + 1)}
