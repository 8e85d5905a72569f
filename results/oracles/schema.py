"""Oracle: do the arguments parse, and do they fit the tool's own JSON Schema?

Owns: validity. What is valid may still be wrong; that is `exact_call`'s question. The planted call is known to be
right, so it is not held against a schema that its workload got wrong. Floor 3. Source: jsonschema-rs.
"""

from __future__ import annotations

import jsonschema_rs

from results.findings import Finding, Kind, Span
from results.oracles.context import JudgeContext
from results.oracles.contract import Oracle, passed, span_of, unknown, violated
from results.oracles.reply import Ending, ParsedCall, Reply

NAME = "json_schema"


def judge(reply: Reply, context: JudgeContext) -> list[Finding]:
    if not reply.calls or not context.schemas:
        return []
    if reply.is_planted:
        return passed(NAME)
    if reply.ending is not Ending.DONE:
        return unknown(NAME, "the call may be incomplete: its reply did not come to its own end")
    findings = [finding for call in reply.calls for finding in _judge_call(reply, call, context)]
    return findings or passed(NAME)


ORACLE = Oracle(NAME, "Do the arguments parse and fit the tool's JSON Schema?", judge)


def _judge_call(reply: Reply, call: ParsedCall, context: JudgeContext) -> list[Finding]:
    schema = context.schema(reply.turn.group, call.name)
    expected = reply.turn.expected
    is_right_tool = expected is not None and call.name == expected.name
    if schema is None and is_right_tool:
        return unknown(NAME, f"the run's tools do not list the planted tool '{call.name}': a fault of the workload")
    if schema is None:
        reason = f"there is no tool called '{call.name}'"
        span = span_of(f"{call.field}.name", call.name, 0, len(call.name))
        return [violated(NAME, Kind.WRONG_CALL, reason, span=span)]
    span = span_of(f"{call.field}.arguments", call.text, 0, len(call.text))
    if call.fault is not None:
        return [violated(NAME, Kind.DAMAGED_ARGUMENTS, f"the arguments of '{call.name}' are {call.fault}", span=span)]
    try:
        return _held_against(schema, reply, call, span)
    except ValueError as error:
        # What the validator cannot take in: arguments nested hundreds deep, half a surrogate pair.
        return unknown(NAME, f"the arguments of '{call.name}' cannot be held against its schema ({error})")


def _held_against(schema: jsonschema_rs.Validator, reply: Reply, call: ParsedCall, span: Span) -> list[Finding]:
    """Raises: ValueError where the validator cannot judge the arguments."""
    if schema.is_valid(call.arguments):
        return []
    expected = reply.turn.expected
    error = next(schema.iter_errors(call.arguments))
    if expected is None or call.name != expected.name or schema.is_valid(expected.arguments):
        place = ".".join(map(str, error.instance_path)) or "the arguments"
        return [violated(NAME, Kind.DAMAGED_ARGUMENTS, f"'{call.name}': {place}: {error.message[:200]}", span=span)]
    reason = f"the schema of '{call.name}' does not even accept the planted arguments: a fault of the workload"
    return unknown(NAME, reason)
