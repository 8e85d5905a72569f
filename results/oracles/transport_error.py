"""Oracle: did the request fail? A fault of the transport or the server's own refusal, never corruption.

Owns: errors before, inside and instead of a stream, and aborted replies. Does not own: silence (`hang`).
Floor 3. Source: ours.
"""

from __future__ import annotations

from results.findings import Finding, Kind, Severity
from results.oracles.context import JudgeContext
from results.oracles.contract import Oracle, passed, violated
from results.oracles.hang import is_silence
from results.oracles.reply import Ending, Reply

NAME = "transport_error"


def judge(reply: Reply, context: JudgeContext) -> list[Finding]:
    del context
    if reply.ending is not Ending.ERROR or is_silence(reply.turn.error):
        return passed(NAME)
    reason = reply.turn.error or f"the server ended the reply with finish reason '{reply.turn.finish_reason}'"
    return [violated(NAME, Kind.TRANSPORT_ERROR, reason, severity=Severity.NOTE)]


ORACLE = Oracle(NAME, "Did the request succeed?", judge)
