"""Oracle: did the server fall silent? A fault of its liveness, never corruption.

Owns: telling one request that hangs from a server that hangs, by what ended elsewhere in the meantime.
Does not own: when to give up waiting; the client's read time-out says so. Floor 3. Source: ours.
"""

from __future__ import annotations

import re
from bisect import bisect_right

from results.findings import Finding, Kind, Severity
from results.oracles.context import JudgeContext
from results.oracles.contract import Oracle, passed, violated
from results.oracles.reply import Reply

NAME = "hang"
SILENCE = "nothing more came"
"""How a client's time-out while reading is stored; `harness/transport/errors.py` writes it."""

_SILENCE = re.compile(re.escape(SILENCE) + r"(?: within (?P<limit_s>\d{1,20}(?:\.\d{1,20})?(?:e[+-]?\d{1,2})?) s)?")
"""A server may quote these words too: what is no number of seconds, as `:g` writes one, is no limit."""


def judge(reply: Reply, context: JudgeContext) -> list[Finding]:
    match = _SILENCE.search(reply.turn.error or "")
    if match is None:
        return passed(NAME)
    turn, limit_s = reply.turn, match["limit_s"]
    after = "the request was sent" if turn.first_token_ns is None else "its first token"
    reason = f"nothing came for {limit_s} s after {after}" if limit_s else f"nothing more came after {after}"
    if context.ended_ns:
        since_ns = turn.sent_ns if turn.first_token_ns is None else turn.first_token_ns
        until_ns = since_ns + round(float(limit_s) * 1e9) if limit_s else context.ended_ns[-1]
        ended = bisect_right(context.ended_ns, until_ns) - bisect_right(context.ended_ns, since_ns)
        others = f", while {ended} other replies ended: this request hangs"
        reason += others if ended else ", and no other reply ended in that time: the server hangs"
    return [violated(NAME, Kind.HANG, reason, severity=Severity.NOTE)]


ORACLE = Oracle(NAME, "Did the server keep talking?", judge)


def is_silence(error: str | None) -> bool:
    return error is not None and SILENCE in error
