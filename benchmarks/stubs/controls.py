"""The controls of a differential verdict, driven against one server: serial twice, the same load twice.

Owns: the four passes, what each reply becomes as a record, and that the cache is flushed where a reference is taken.
Does not own: the verdict (`results.oracles.divergence`, `results.vacuity`), the client (`harness.transport`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

import aiohttp

from benchmarks.stubs.clock import now_ns
from benchmarks.stubs.server import MODEL
from benchmarks.stubs.workload import TOOL, StubTurn, Workload
from harness.transport.contract import ChatRequest, Reply, TransportOptions
from harness.transport.over_aiohttp import AiohttpTransport
from results.findings import Verdict
from results.oracles.context import judge_context
from results.oracles.divergence import DivergenceReport, Observed, TurnReplies, gated, judge_divergence
from results.oracles.judge import judge_turns
from results.records import SessionRecord, TurnRecord
from results.vacuity import Demands, exercise_of, not_exercised

DEMANDS = Demands(overlap_min=4, cached_turns_min=1)
_OFFERED = ({"type": "function", "function": {"name": TOOL.name, "description": "", "parameters": TOOL.parameters}},)
_EXTRA = {"logprobs": True, "top_logprobs": 5}


@dataclass(frozen=True, slots=True)
class Controlled:
    """The verdict behind the vacuity gate, and the report that it rests on."""

    verdict: Verdict
    reason: str
    report: DivergenceReport


async def run_controls(base_url: str, load: Workload) -> Controlled:
    transport = AiohttpTransport(TransportOptions(f"{base_url}/v1", read_timeout_s=60.0), now_ns=now_ns)
    try:
        async with aiohttp.ClientSession() as cache:
            flush_url = f"{base_url}/flush_cache"
            serial = [await _serial(transport, load, cache, flush_url) for _ in range(2)]
            loaded = [await _loaded(transport, load, cache, flush_url) for _ in range(2)]
    finally:
        await transport.close()
    return judged(load, serial, loaded)


def judged(
    load: Workload, serial: Sequence[Sequence[TurnRecord]], loaded: Sequence[Sequence[TurnRecord]]
) -> Controlled:
    """The passes' records, each in the order of the workload's turns, as one verdict."""
    planted = [(turn.session, turn.turn, turn.expected) for turns in load.turns for turn in turns]
    context = judge_context(tools=[TOOL], sessions=load.sessions, planted=planted)
    observed = [
        [Observed(*pair) for pair in zip(turns, judge_turns(turns, context), strict=True)]
        for turns in (*serial, *loaded)
    ]
    count = len(serial)
    replies = [TurnReplies(tuple(each[:count]), tuple(each[count:])) for each in zip(*observed, strict=True)]
    report = judge_divergence(replies)
    missing = not_exercised(exercise_of([turn for turns in loaded for turn in turns], {}), DEMANDS)
    return Controlled(*gated(report, missing), report)


async def _serial(
    transport: AiohttpTransport, load: Workload, cache: aiohttp.ClientSession, flush_url: str
) -> list[TurnRecord]:
    """One request after another, each on a flushed cache."""
    records = []
    for session, turns in zip(load.sessions, load.turns, strict=True):
        for turn in turns:
            await _flush(cache, flush_url)
            records.append(await _ask(transport, session, turn))
    return records


async def _loaded(
    transport: AiohttpTransport, load: Workload, cache: aiohttp.ClientSession, flush_url: str
) -> list[TurnRecord]:
    """All sessions at once, each one's turns in order."""
    await _flush(cache, flush_url)

    async def one(session: SessionRecord, turns: Sequence[StubTurn]) -> list[TurnRecord]:
        return [await _ask(transport, session, turn) for turn in turns]

    answered = await asyncio.gather(*(one(*pair) for pair in zip(load.sessions, load.turns, strict=True)))
    return [record for records in answered for record in records]


async def _flush(cache: aiohttp.ClientSession, flush_url: str) -> None:
    """A server that cannot be reached shows in its replies, and is not hidden by an error here."""
    with suppress(aiohttp.ClientConnectionError):
        async with cache.post(flush_url) as response:
            await response.read()


async def _ask(transport: AiohttpTransport, session: SessionRecord, turn: StubTurn) -> TurnRecord:
    name = f"s{turn.session:04d}-t{turn.turn:02d}"
    request = ChatRequest(name, MODEL, turn.messages, _OFFERED, max_tokens=256, extra=_EXTRA)
    sent_ns = now_ns()
    return _record(session, turn, await transport.chat(request), name, sent_ns)


def _record(session: SessionRecord, turn: StubTurn, reply: Reply, name: str, sent_ns: int) -> TurnRecord:
    usage = reply.usage
    return TurnRecord(
        session=turn.session,
        turn=turn.turn,
        request_id=name,
        group=0,
        scheduled_ns=sent_ns,
        sent_ns=sent_ns,
        first_token_ns=reply.arrived.first_token_ns,
        finished_ns=reply.arrived.end_ns if reply.error is None else None,
        prompt_tokens=usage.prompt_tokens if usage else None,
        completion_tokens=None,
        cached_tokens=usage.cached_tokens if usage else None,
        finish_reason=reply.finish_reason,
        content=reply.content,
        tool_calls=reply.tool_calls,
        expected=turn.expected,
        secrets=session.secrets,
        error=None if reply.error is None else str(reply.error),
        raw=reply.raw,
        machine=None,
    )
