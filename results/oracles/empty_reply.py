"""Oracle: did a reply that ended well say nothing?

Owns: the empty success: a finish reason, and neither text nor a call. Floor 3. Source: ours.
"""

from __future__ import annotations

from results.findings import Finding, Kind
from results.oracles.context import JudgeContext
from results.oracles.contract import Oracle, passed, unknown, violated
from results.oracles.reply import Ending, Reply

NAME = "empty_reply"


def judge(reply: Reply, context: JudgeContext) -> list[Finding]:
    del context
    if not reply.is_blank:
        return passed(NAME)
    if reply.ending is not Ending.DONE:
        return unknown(NAME, "nothing arrived, but the reply did not come to its own end")
    tokens = reply.turn.completion_tokens
    counted = "" if tokens is None else f" (the server counts {tokens} tokens)"
    reason = f"finish reason '{reply.turn.finish_reason}', and neither text nor a call{counted}"
    return [violated(NAME, Kind.EMPTY_REPLY, reason)]


ORACLE = Oracle(NAME, "Is there anything in the reply?", judge)
