"""The way of a reply from bytes to judgement without sockets: the same request bytes, watcher, decoder and oracles.

Owns: one workload with its sound replies, and a run over it under a planter. Whatever a socket adds is left out, and
`over_sockets.py` shows that it changes nothing. A sound reply is decoded and judged once and used again, since both
are pure. Does not own: chance, damage (`harness/planting`), figures. Source: ours.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import orjson

from benchmarks.planted import sound_server
from harness.config.schema import WorkloadSpec
from harness.live.arrivals import load_shape
from harness.live.workload import live_workload
from harness.load.names import request_name
from harness.load.turn_record import answered, unanswered
from harness.load.workload import SessionPlan, Workload, build_workload
from harness.planting.planter import Planter
from harness.proxy.contract import Ending, Farewell, PassingRequest
from harness.transport.contract import ChatRequest, Reply
from harness.transport.errors import EngineProtocolError, EngineTimeout
from harness.transport.reply import ReplyBuilder
from kernels.engine.shared import SharedModel
from results.findings import Judgement
from results.oracles.context import JudgeContext, judge_context
from results.oracles.judge import judge_turn
from results.records import TurnRecord

PATH = "/v1/chat/completions"
MAX_TOKENS = 160
PROMPT_TOKENS = 1_800
_SPEED = {"workload.think_s": "0", "workload.start_spread_s": "0"}


@dataclass(frozen=True, slots=True)
class SoundTurn:
    """One request as it is sent, the pieces of its sound answer, and what the client and the judge make of it."""

    request: PassingRequest
    pieces: tuple[bytes, ...]
    turn: TurnRecord
    judgement: Judgement


def spec_of(sessions: int) -> WorkloadSpec:
    """The builtin workload of a live run, without pauses."""
    load = load_shape("closed", sessions, None, None)
    return live_workload(load, source="builtin", prompt_tokens=PROMPT_TOKENS, overrides=_SPEED)


class Lane:
    """One workload. `run` gives what a live run of it would give, in the order of the sessions' turns."""

    def __init__(self, sessions: int, seed: int) -> None:
        spec = spec_of(sessions)
        self.workload: Workload = build_workload(spec, seed, SharedModel().reader.count_tokens)
        self.context: JudgeContext = _context(self.workload)
        self.sound = [self._sound(plan, turn) for plan, turn in _in_turn(self.workload)]

    def __repr__(self) -> str:
        return f"Lane({self.workload})"

    def run(self, planter: Planter) -> tuple[list[TurnRecord], list[Judgement]]:
        judged = [self._passed(one, planter) for one in self.sound]
        return [turn for turn, _ in judged], [judgement for _, judgement in judged]

    def _passed(self, one: SoundTurn, planter: Planter) -> tuple[TurnRecord, Judgement]:
        watcher = planter.watch(one.request)
        if watcher is None:
            return one.turn, one.judgement
        watcher.answered(200, "text/event-stream")
        pieces = [out for piece in one.pieces for out in watcher.piece(piece)]
        last = watcher.ended(None)
        pieces += last.pieces
        if last.ending is Ending.WHOLE and b"".join(pieces) == b"".join(one.pieces):
            return one.turn, one.judgement
        reply = decoded(pieces, last)
        turn = answered(one.turn, reply, reply.arrived)
        return turn, judge_turn(turn, self.context)

    def _sound(self, plan: SessionPlan, number: int) -> SoundTurn:
        name = request_name(plan.session, number)
        body = orjson.dumps(
            ChatRequest(name, sound_server.MODEL, plan.messages(number), plan.tools, MAX_TOKENS).fields()
        )
        found = sound_server.recalled(body)
        assert found is not None, name
        pieces = tuple(sound_server.events(*found, len(body) // 4))
        sent = unanswered(plan, number, scheduled_ns=0, sent_ns=0)
        reply = decoded(list(pieces), Farewell())
        turn = answered(sent, reply, reply.arrived)
        return SoundTurn(PassingRequest("POST", PATH, {}, body), pieces, turn, judge_turn(turn, self.context))


def decoded(pieces: list[bytes], last: Farewell) -> Reply:
    """What the client's decoder makes of these bytes and of the way they ended."""
    builder = ReplyBuilder(status=200)
    for piece in pieces:
        builder.feed(piece, now_ns=1)
    broken_by = {
        Ending.WHOLE: None,
        Ending.CUT: EngineProtocolError("cut", status=200),
        Ending.SILENT: EngineTimeout("http://127.0.0.1/v1/chat/completions", phase="read", limit_s=1.0),
    }[last.ending]
    builder.end(now_ns=2, broken_by=broken_by)
    return builder.reply(end_ns=2)


def _context(workload: Workload) -> JudgeContext:
    planted = [
        (plan.session, number, planned.expected.record())
        for plan in workload.sessions
        for number, planned in enumerate(plan.turns)
    ]
    return judge_context(
        tools=workload.tool_schemas(),
        sessions=[plan.record() for plan in workload.sessions],
        planted=planted,
        max_tokens=MAX_TOKENS,
    )


def _in_turn(workload: Workload) -> Iterator[tuple[SessionPlan, int]]:
    """Every session's first turn, then every second one: as they would meet under load."""
    longest = max(len(plan.turns) for plan in workload.sessions)
    for number in range(longest):
        for plan in workload.sessions:
            if number < len(plan.turns):
                yield plan, number
