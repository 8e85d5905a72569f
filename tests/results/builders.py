"""Records for the tests of `results`: one sound turn, and ways to change it.

Owns: defaults. Floor: tests. Source: ours.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from results.findings import Judgement, Kind, Origin, Verdict
from results.oracles.context import JudgeContext, judge_context
from results.records import (
    ExpectedCall,
    MachineEvidence,
    Measured,
    RunManifest,
    SessionRecord,
    StaleRead,
    ToolCall,
    ToolSchema,
    TurnRecord,
)

EXPECTED = ExpectedCall("book_table", {"restaurant": "Lindenhof", "guests": 4, "outdoors": True})

TOOLS = (
    ToolSchema(
        "book_table",
        "Reserve a table.",
        {
            "type": "object",
            "properties": {
                "restaurant": {"type": "string"},
                "guests": {"type": "integer", "minimum": 1},
                "outdoors": {"type": "boolean"},
            },
            "required": ["restaurant", "guests"],
            "additionalProperties": False,
        },
    ),
    ToolSchema("cancel_table", "Cancel a reservation.", {"type": "object", "properties": {}}),
)

SESSIONS = (
    SessionRecord(0, group=0, turn_count=2, secrets=("marzipan-71", "quokka-lamp")),
    SessionRecord(1, group=0, turn_count=2, secrets=("velvet-otter", "plinth-909")),
)


def turn(session: int = 0, number: int = 0, **changes: Any) -> TurnRecord:
    """A sound reply to `EXPECTED`, with some fields changed."""
    sound = TurnRecord(
        session=session,
        turn=number,
        request_id=f"s{session:04d}-t{number:02d}",
        group=0,
        scheduled_ns=1_000_000 * (number + 1) + session,
        sent_ns=1_000_000 * (number + 1) + session,
        first_token_ns=2_000_000 * (number + 1),
        finished_ns=3_000_000 * (number + 1),
        prompt_tokens=21_000,
        completion_tokens=24,
        cached_tokens=20_480,
        finish_reason="tool_calls",
        content="",
        tool_calls=(call(),),
        expected=EXPECTED,
        secrets=SESSIONS[session].secrets if session < len(SESSIONS) else (),
        error=None,
        raw=None,
        machine=None,
    )
    return replace(sound, **changes)


def call(name: str = EXPECTED.name, arguments: str | None = None, **changed: Any) -> ToolCall:
    """The planted call, or one with other text or with some arguments changed."""
    text = json.dumps(EXPECTED.arguments | changed, ensure_ascii=False) if arguments is None else arguments
    return ToolCall("call_0", name, text)


def said(content: str, **changes: Any) -> TurnRecord:
    """A turn whose reply is text and no call."""
    return turn(content=content, tool_calls=(), finish_reason=changes.pop("finish_reason", "stop"), **changes)


def context(**changes: Any) -> JudgeContext:
    return judge_context(**({"tools": TOOLS, "sessions": SESSIONS} | changes))


def machine(**changes: Any) -> MachineEvidence:
    """A turn that hit the host tier and read nothing stale, with some fields changed."""
    quiet = MachineEvidence(
        host_hit_tokens=20_480,
        device_hit_tokens=3_584,
        new_tokens=520,
        batch=4,
        stale_reads=0,
        torn_reads=0,
        stale_layers=0,
        late_us_max=None,
        poisoned_reads=0,
        decode_stale_reads=0,
        stale_sample=(),
    )
    return replace(quiet, **changes)


def stale_machine(**changes: Any) -> MachineEvidence:
    sample = (StaleRead("index_k", 7, (12, 13, 14, 20), 212.4, 1), StaleRead("index_k", 9, (12,), 18.0, 0))
    stale = machine(stale_reads=96, torn_reads=7, stale_layers=18, late_us_max=212.4, stale_sample=sample)
    return replace(stale, **changes)


def manifest(**changes: Any) -> RunManifest:
    begun = RunManifest(
        seed=1,
        scenario="hicache_bf16",
        backend="virtual",
        configuration={"sessions": 2, "index_k": "bf16"},
        versions={"kvrace": "0.1.0", "numpy": "2.4.6"},
        host={"cpus": 2},
        git_revision=None,
        started="2026-11-29T17:55:12Z",
        repeat="python run.py --scenario hicache_bf16 --sessions 2 --seed 1",
        session_count=2,
    )
    return replace(begun, **changes)


def measured(turn_count: int, **counters: float) -> Measured:
    return Measured(turn_count=turn_count, wall_s=12.5, trace_digest="00ff", counters=dict(counters))


def judged(session: int, number: int, kind: Kind | None = None, origin: Origin | None = None) -> Judgement:
    """A judgement without findings: OK, corrupted, or (with a kind that is no corruption) unknown."""
    if kind is None:
        return Judgement(session, number, Verdict.OK, None, None, ())
    if kind.is_corruption:
        return Judgement(session, number, Verdict.VIOLATED, kind, origin or Origin.UNOBSERVED, ())
    return Judgement(session, number, Verdict.UNKNOWN, kind, None, ())
