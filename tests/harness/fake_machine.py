"""A small machine in virtual time that recalls exactly, for tests of everything around the real one.

Owns: a heap of events, a prefill that serves one request at a time, a decode whose pace depends on how many share it.
So every time stamp depends on the order in which requests were admitted: a wrong order cannot hide.
Does not own: races, caches, or the real engine's timing. Floor: tests. Source: ours.
"""

from __future__ import annotations

import heapq
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from harness.pair.engines import GenerateRequest, TokenSink, Usage

PREFILL_NS = 2_000_000
TOKEN_NS = 500_000
TOKEN_BYTES = 5
_REFERENCE = re.compile(r"\(\(([^)]+)\)\)")


def recall(messages: Sequence[Mapping[str, Any]]) -> str:
    """What the real model is built to answer: the body of the fact that the last reference names."""
    text = "\n".join(message["content"] for message in messages if isinstance(message["content"], str))
    keys = _REFERENCE.findall(text)
    fact = re.search(rf"\[\[{re.escape(keys[-1])}\]\] (.*)", text) if keys else None
    return fact[1] if fact else "I do not know."


class FakeMachine:
    """The `TimeSource`. trace: (time, what, request id), in the order in which things happened."""

    def __init__(self) -> None:
        self.now_ns = 0
        self.trace: list[tuple[int, str, str]] = []
        self.events = 0
        self._events: list[tuple[int, int, Callable[[], None]]] = []
        self._is_interrupted = False

    def at(self, time_ns: int, action: Callable[[], None]) -> None:
        self.events += 1
        heapq.heappush(self._events, (time_ns, self.events, action))

    def note(self, what: str, request_id: str) -> None:
        self.trace.append((self.now_ns, what, request_id))

    def next_time_ns(self) -> int | None:
        return self._events[0][0] if self._events else None

    def advance_to(self, time_ns: int) -> None:
        self._is_interrupted = False
        while self._events and self._events[0][0] <= time_ns:
            due_ns, _, action = heapq.heappop(self._events)
            self.now_ns = max(self.now_ns, due_ns)
            action()
            if self._is_interrupted:
                return
        self.now_ns = time_ns

    def interrupt(self) -> None:
        self._is_interrupted = True


@dataclass(slots=True)
class _Job:
    request: GenerateRequest
    sink: TokenSink
    tokens: list[bytes]
    sent: int = 0

    @property
    def usage(self) -> Usage:
        return Usage(prompt_tokens=len(self.request.messages), completion_tokens=self.sent, cached_tokens=1)


@dataclass(slots=True, weakref_slot=True)
class FakeEngines:
    """Both engines; `prefill` and `decode` are what the servers take.

    fail: request ids that the prefill or the decode engine answers with an error, and after how many tokens.
    swallow: request ids that are never answered. stall_after: tokens after which decode says nothing more.
    late_prefill_ns: how long after the hand-off the prefill engine sees that it is over, busy as it is.
    """

    machine: FakeMachine
    fail_prefill: set[str] = field(default_factory=set)
    fail_decode: dict[str, int] = field(default_factory=dict)
    swallow: set[str] = field(default_factory=set)
    stall_after: int | None = None
    late_prefill_ns: int = 0
    answer: Callable[[Sequence[Mapping[str, Any]]], str] = recall
    is_busy: bool = False

    @property
    def prefill(self) -> FakePrefill:
        return FakePrefill(self)

    @property
    def decode(self) -> FakeDecode:
        return FakeDecode(self)

    waiting: list[_Job] = field(default_factory=list)
    decoding: dict[str, _Job] = field(default_factory=dict)
    arrived_pages: set[str] = field(default_factory=set)
    is_computing: bool = False

    def cut(self, request: GenerateRequest) -> list[bytes]:
        raw = self.answer(request.messages).encode()
        return [raw[at : at + TOKEN_BYTES] for at in range(0, len(raw), TOKEN_BYTES)] or [b""]

    def next_prefill(self) -> None:
        if self.is_computing or not self.waiting:
            return
        self.is_computing = True
        job = self.waiting.pop(0)
        size = sum(len(message["content"] or "") for message in job.request.messages)
        self.machine.at(self.machine.now_ns + PREFILL_NS + 100 * size, lambda: self.end_prefill(job))

    def end_prefill(self, job: _Job) -> None:
        self.is_computing = False
        name = job.request.request_id
        self.machine.note("prefilled", name)
        if name in self.fail_prefill:
            self.fail_prefill.discard(name)
            job.sink.on_finish("error", job.usage, self.machine.now_ns, "no page is free")
        elif name not in self.swallow:
            job.sent = 1
            job.sink.on_text(job.tokens[0], self.machine.now_ns)
            done_ns = self.machine.now_ns + self.late_prefill_ns
            if self.late_prefill_ns:
                self.machine.at(done_ns, lambda: job.sink.on_finish("length", job.usage, done_ns))
            else:
                job.sink.on_finish("length", job.usage, done_ns)
            self.arrived_pages.add(name)
            self.start_decode(name)
        self.next_prefill()

    def start_decode(self, name: str) -> None:
        if name in self.arrived_pages and name in self.decoding:
            self.machine.at(self.machine.now_ns + TOKEN_NS, lambda: self.token(name))

    def token(self, name: str) -> None:
        job = self.decoding.get(name)
        if job is None:
            return
        now_ns = self.machine.now_ns
        if self.fail_decode.get(name) == job.sent:
            del self.decoding[name], self.fail_decode[name]
            job.sink.on_finish("error", job.usage, now_ns, "the decode engine gave up")
            return
        if self.stall_after == job.sent:
            return
        limit = min(len(job.tokens), job.request.max_new_tokens)
        if job.sent < limit:
            job.sink.on_text(job.tokens[job.sent], now_ns)
            job.sent += 1
        if job.sent < limit:
            self.machine.at(now_ns + TOKEN_NS + 1_000 * len(self.decoding), lambda: self.token(name))
            return
        del self.decoding[name]
        self.arrived_pages.discard(name)
        self.machine.note("decoded", name)
        job.sink.on_finish("stop" if limit == len(job.tokens) else "length", job.usage, now_ns)


@dataclass(frozen=True, slots=True)
class FakePrefill:
    engines: FakeEngines

    @property
    def running_requests(self) -> int:
        return int(self.engines.is_computing)

    def submit(self, request: GenerateRequest, sink: TokenSink) -> None:
        self.engines.machine.note("prefill", request.request_id)
        self.engines.waiting.append(_Job(request, sink, self.engines.cut(request)))
        self.engines.next_prefill()

    def abort(self, request_id: str) -> None:
        self.engines.machine.note("abort prefill", request_id)
        for job in [job for job in self.engines.waiting if job.request.request_id == request_id]:
            self.engines.waiting.remove(job)
            job.sink.on_finish("abort", job.usage, self.engines.machine.now_ns)

    def flush_cache(self) -> bool:
        return not self.engines.is_busy


@dataclass(frozen=True, slots=True)
class FakeDecode:
    engines: FakeEngines

    @property
    def running_requests(self) -> int:
        return len(self.engines.arrived_pages & self.engines.decoding.keys())

    def submit(self, request: GenerateRequest, sink: TokenSink) -> None:
        self.engines.machine.note("decode", request.request_id)
        self.engines.decoding[request.request_id] = _Job(request, sink, self.engines.cut(request))
        self.engines.start_decode(request.request_id)

    def abort(self, request_id: str) -> None:
        self.engines.machine.note("abort decode", request_id)
        job = self.engines.decoding.pop(request_id, None)
        if job is not None:
            job.sink.on_finish("abort", job.usage, self.engines.machine.now_ns)

    def flush_cache(self) -> bool:
        return True
