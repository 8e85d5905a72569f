"""Oracle: did a limit or a filter end the reply? Classes of their own, never corruption.

Owns: truncation by the limit on tokens and stops by a content filter. Floor 3. Source: ours.
"""

from __future__ import annotations

from results.findings import Finding, Kind, Severity
from results.oracles.context import JudgeContext
from results.oracles.contract import Oracle, passed, violated
from results.oracles.reply import Ending, Reply

NAME = "stopped_early"


def judge(reply: Reply, context: JudgeContext) -> list[Finding]:
    del context
    if reply.ending is Ending.REFUSED:
        reason = "the server's content filter ended the reply"
        return [violated(NAME, Kind.REFUSED, reason, severity=Severity.NOTE)]
    if reply.ending is Ending.LIMIT and not reply.is_planted:
        reason = f"the limit on tokens ended the reply (finish reason '{reply.turn.finish_reason}')"
        return [violated(NAME, Kind.TRUNCATED, reason, severity=Severity.NOTE)]
    return passed(NAME)


ORACLE = Oracle(NAME, "Did the model itself end the reply?", judge)
