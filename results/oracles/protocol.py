"""Oracle: does the reply bend the protocol? A note, and never corruption.

Owns: deviations that a stored record still shows. The client survives many more of them (`harness/transport`), and
those leave no trace in the record. Floor 3. Source: facts of public servers; the wording is ours.
"""

from __future__ import annotations

from results.findings import Finding, Kind, Severity
from results.oracles.context import JudgeContext
from results.oracles.contract import Oracle, passed, violated
from results.oracles.reply import Ending, Reply

NAME = "protocol"
REASONS = frozenset({"stop", "tool_calls", "length", "content_filter", "function_call"})


def judge(reply: Reply, context: JudgeContext) -> list[Finding]:
    del context
    bent = _bent(reply)
    return passed(NAME) if bent is None else [violated(NAME, Kind.QUIRK, bent, severity=Severity.NOTE)]


ORACLE = Oracle(NAME, "Does the reply keep to the protocol?", judge)


def _bent(reply: Reply) -> str | None:
    turn, reason = reply.turn, reply.turn.finish_reason
    if reason is None or reply.ending is Ending.ERROR:
        return None
    if reason not in REASONS:
        return f"the finish reason is '{reason[:40]}', which the protocol does not know"
    if turn.tool_calls and reason == "stop":
        return "the finish reason is 'stop' though calls were made"
    if reason != "length" and reply.ending is Ending.LIMIT:
        return f"the limit on tokens was reached, and the finish reason is '{reason}'"
    ids = [call.id for call in turn.tool_calls if call.id]
    return "two calls have one id" if len(set(ids)) < len(ids) else None
