"""The record of one turn: what was sent, and then what came back.

Owns: which field of a plan and of a reply becomes which field of a record. Does not own: when it is sent, marks of a
load, or any judgement. Pure. Floor 5. Source: ours.
"""

from __future__ import annotations

from dataclasses import replace

from harness.load.names import request_name
from harness.load.workload.planned import PlannedSession
from harness.transport.contract import Reply, Stamps
from results.records import TurnRecord


def unanswered(plan: PlannedSession, turn: int, *, scheduled_ns: int, sent_ns: int) -> TurnRecord:
    """A planned turn that has been sent, and of whose reply nothing is known yet."""
    planned = plan.turns[turn]
    return TurnRecord(
        session=plan.session, turn=turn, request_id=request_name(plan.session, turn), group=plan.group,
        scheduled_ns=scheduled_ns, sent_ns=sent_ns, first_token_ns=None, finished_ns=None, prompt_tokens=None,
        completion_tokens=None, cached_tokens=None, finish_reason=None, content="", tool_calls=(),
        expected=None if planned.expected is None else planned.expected.record(), secrets=plan.secrets, error=None,
        raw=None, machine=None, max_tokens=planned.max_tokens, expected_word=planned.expected_word,
    )  # fmt: skip


def answered(turn: TurnRecord, reply: Reply, times: Stamps) -> TurnRecord:
    """The same turn with this reply. times: on the clock of the record; a reply that failed has no end."""
    usage = reply.usage
    return replace(
        turn,
        first_token_ns=times.first_token_ns,
        finished_ns=times.end_ns if reply.error is None else None,
        prompt_tokens=usage.prompt_tokens if usage else None,
        completion_tokens=usage.completion_tokens if usage else None,
        cached_tokens=usage.cached_tokens if usage else None,
        finish_reason=reply.finish_reason,
        content=reply.content,
        reasoning=reply.reasoning,
        tool_calls=reply.tool_calls,
        error=None if reply.error is None else str(reply.error),
        raw=reply.raw,
    )
