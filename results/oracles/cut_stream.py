"""Oracle: did the stream stop without a finish reason? A fault of the transport, never corruption.

Owns: telling a cut from an end. Floor 3. Source: ours.
"""

from __future__ import annotations

from results.findings import Finding, Kind, Severity
from results.oracles.context import JudgeContext
from results.oracles.contract import Oracle, passed, violated
from results.oracles.reply import Ending, Reply

NAME = "cut_stream"


def judge(reply: Reply, context: JudgeContext) -> list[Finding]:
    del context
    if reply.ending is not Ending.CUT:
        return passed(NAME)
    arrived = sum(len(text) for _, text in reply.parts)
    reason = f"the stream stopped after {arrived} characters without a finish reason"
    return [violated(NAME, Kind.CUT_STREAM, reason, severity=Severity.NOTE)]


ORACLE = Oracle(NAME, "Did the stream come to its end?", judge)
