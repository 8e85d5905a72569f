"""The watcher that damages: it holds a chosen reply back until it is whole, and sends it on damaged.

Owns: which exchanges can take a fault, and the way from bytes to a turn and back. Does not own: chance (`dosing.py`),
the damages (`damage/`), shapes (`reply_shapes.py`), sockets (`harness/proxy`). Floor 5. Source: ours.

Only a reply that is one whole call with arguments can be damaged, because the call is what is known to be right. All
others pass as they are. A damaged reply comes in one go at its end, so its times are not the server's.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal

import numpy as np
import orjson

from harness.load.workload.prose import sentence
from harness.load.workload.words import Vocabulary, load_vocabulary
from harness.planting.damage.scene import Scene
from harness.planting.dosing import Dosing, Fate
from harness.planting.memory import NO_LEAK, Leak, Memory, Passed, conversation_of
from harness.planting.reply_shapes import SHAPES, Frame, Shape, body_of, stream_of
from harness.planting.truth import Planted
from harness.proxy.contract import Ending, Farewell, PassingRequest, Watcher
from harness.transport.contract import Reply
from harness.transport.reply import ReplyBuilder
from results.records import ExpectedCall, TurnRecord

AnyShape = Literal["any", "sglang", "vllm", "whole"]
_PATH: Final = "/chat/completions"
_STREAM: Final = "text/event-stream"
_USER: Final = re.compile(rb'"user"\s*:\s*("(?:[^"\\]|\\.)*")')
_FRAME_FIELDS: Final = ("id", "object", "created", "model", "system_fingerprint")
_LEAKY: Final = frozenset({"cross_talk", "wrong_call"})


@dataclass(slots=True)
class Tally:
    """replies: chat replies that passed. unfit: that should have been damaged and could not be. planted: by fault."""

    replies: int = 0
    unfit: int = 0
    planted: Counter[str] = field(default_factory=Counter)


class Planter:
    """`watch` is what a `ReverseProxy` asks. spare_first: so many chat requests pass before the first is drawn.

    on_planted: told of each damaged reply, before the client gets any of it.
    """

    def __init__(
        self,
        dosing: Dosing,
        *,
        shape: AnyShape = "any",
        spare_first: int = 0,
        on_planted: Callable[[Planted], None] = lambda _: None,
    ) -> None:
        self.tally = Tally()
        self.memory = Memory(lambda passed: _whole_call(_read(passed)))
        self.vocabulary: Vocabulary = load_vocabulary()
        self.on_planted = on_planted
        self._dosing = dosing
        self._shape = shape
        self._spare = spare_first
        self.remembers = any(dose.fault.name in _LEAKY for dose in dosing.doses)
        self.replied: Counter[str] = Counter()

    def __repr__(self) -> str:
        return f"Planter({self._dosing}, {self.tally})"

    def watch(self, request: PassingRequest) -> Watcher | None:
        if request.method != "POST" or not request.path.endswith(_PATH):
            return None
        self.tally.replies += 1
        self._spare -= 1
        return _Exchange(self, request.body, self._dosing.fate(request.body) if self._spare < 0 else None)

    def shape(self, rng: np.random.Generator) -> Shape:
        return SHAPES[int(rng.integers(len(SHAPES)))] if self._shape == "any" else self._shape

    def prose(self, rng: np.random.Generator, sentences_max: int) -> str:
        count = int(rng.integers(1, sentences_max + 1))
        return " ".join(sentence(self.vocabulary, rng) for _ in range(count))


class _Exchange:
    """One exchange. Without a fate it is only counted, and remembered where it might leak."""

    def __init__(self, planter: Planter, body: bytes, fate: Fate | None) -> None:
        self._planter = planter
        self._body = body
        self._name = _name_of(body)
        self._fate = fate
        self._pieces: list[bytes] = []
        self._status = 0
        self._is_stream = True

    def __repr__(self) -> str:
        return f"_Exchange({self._fate}, {len(self._pieces)} pieces)"

    def answered(self, status: int, content_type: str) -> None:
        self._status = status
        self._is_stream = content_type == _STREAM

    def piece(self, data: bytes) -> Sequence[bytes]:
        if self._fate is not None or self._planter.remembers:
            self._pieces.append(data)
        return (data,) if self._fate is None else ()

    def ended(self, fault: str | None) -> Farewell:
        planter, fate = self._planter, self._fate
        if fault is not None or self._status != 200:
            planter.tally.unfit += fate is not None
            return Farewell(self._pieces if fate is not None else ())
        planter.replied[self._name] += 1
        if fate is None and not planter.remembers:
            return Farewell()
        passed = Passed(b"".join(self._pieces), self._is_stream)
        fields = _object(self._body)
        conversation = conversation_of(fields)
        planter.memory.keep(conversation, self._body, passed)
        if fate is None:
            return Farewell()
        reply = _read(passed)
        expected = _whole_call(reply)
        leak: Leak | None = NO_LEAK
        if fate.fault.name in _LEAKY:
            leak = planter.memory.other(conversation, self._body, fate.rng)
        if expected is None or leak is None:
            planter.tally.unfit += 1
            return Farewell(self._pieces)
        scene = Scene(_turn(reply, expected), leak.call, leak.words, planter.prose)
        return self._damaged(scene, reply, fate, fields)

    def _damaged(self, scene: Scene, reply: Reply, fate: Fate, fields: Mapping[str, Any]) -> Farewell:
        planter, rng = self._planter, fate.rng
        turn, strength = scene.turn, "at any place"
        if fate.fault.damage is not None:
            damaged = fate.fault.damage(rng, scene)
            turn, strength = _within_limit(damaged.turn, fields), damaged.strength
        frame = Frame(_frame_fields(b"".join(self._pieces), is_stream=self._is_stream), reply.usage)
        pieces: tuple[bytes, ...]
        if self._is_stream:
            stream = stream_of(turn, frame, planter.shape(rng), rng)
            pieces = stream.events
            if fate.fault.ending is not Ending.WHOLE:
                pieces = pieces[: int(rng.integers(stream.call_end + 1))]
        else:
            whole = body_of(turn, frame)
            pieces = (whole if fate.fault.ending is Ending.WHOLE else whole[: len(whole) // 2],)
        planter.tally.planted[fate.fault.name] += 1
        planter.on_planted(Planted(self._name, fate.fault.name, strength, planter.replied[self._name]))
        return Farewell(pieces, fate.fault.ending)


def _name_of(body: bytes) -> str:
    """The request's `user`, without reading the rest of it. Inside a text its quotes would be escaped."""
    found = _USER.search(body)
    return "" if found is None else str(orjson.loads(found[1]))


def _read(passed: Passed) -> Reply:
    builder = ReplyBuilder(status=200, keep_raw=False)
    if passed.is_stream:
        builder.feed(passed.raw, now_ns=0)
        builder.end(now_ns=0)
    else:
        builder.body(passed.raw, now_ns=0)
    return builder.reply(end_ns=None)


def _whole_call(reply: Reply) -> ExpectedCall | None:
    """The call, where the reply is one with arguments, and nothing went wrong."""
    if reply.error is not None or len(reply.tool_calls) != 1 or reply.finish_reason is None:
        return None
    arguments = _object(reply.tool_calls[0].arguments.encode())
    return ExpectedCall(reply.tool_calls[0].name, arguments) if arguments else None


def _object(text: bytes) -> dict[str, Any]:
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError:
        return {}
    return value if isinstance(value, dict) else {}


def _frame_fields(raw: bytes, *, is_stream: bool) -> dict[str, Any]:
    """What the server's first chunk says of the whole answer."""
    if is_stream:
        raw = next((line[5:] for line in raw.splitlines() if line.startswith(b"data:")), b"")
    fields = _object(raw)
    return {name: fields[name] for name in _FRAME_FIELDS if name in fields}


def _turn(reply: Reply, expected: ExpectedCall) -> TurnRecord:
    """The sound reply as a damage wants it; times and names mean nothing here."""
    return TurnRecord(
        session=0, turn=0, request_id="", group=0, scheduled_ns=0, sent_ns=0, first_token_ns=None, finished_ns=None,
        prompt_tokens=None, completion_tokens=None if reply.usage is None else reply.usage.completion_tokens,
        cached_tokens=None, finish_reason=reply.finish_reason, content=reply.content, tool_calls=reply.tool_calls,
        expected=expected, secrets=(), error=None, raw=None, machine=None, reasoning=reply.reasoning,
    )  # fmt: skip


def _within_limit(turn: TurnRecord, fields: Mapping[str, Any]) -> TurnRecord:
    """No server counts more tokens than were asked for, nor as many in a reply that ended by itself."""
    limit = fields.get("max_completion_tokens") or fields.get("max_tokens")
    if not isinstance(limit, int) or turn.completion_tokens is None:
        return turn
    tokens = limit if turn.finish_reason == "length" else min(turn.completion_tokens, limit - 1)
    return replace(turn, completion_tokens=tokens)
