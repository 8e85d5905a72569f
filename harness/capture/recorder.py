"""Exchanges that have ended become records: read, cleaned of secrets, counted, stored, in that order.

Owns: the queue between the proxy and the disk, the limits, the header. Does not own: the passing on (`harness/proxy`),
what a secret is (`scrubbing/`), the folder (`store.py`). Floor 5. Source: ours.

Nothing is cleaned while its own client waits, and never more than one message at a time, so that other streams are not
held up. What waits in the queue is in memory only; a crash loses it, and the end of the capture waits for it.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Final

import msgspec

from harness.capture.conversations import Conversations
from harness.capture.credentials import secrets_of
from harness.capture.record import CapturedReply, CaptureHeader, Exchange
from harness.capture.scrubbing.scrubber import HEADER, SecretScrubber
from harness.capture.store import CaptureWriter
from harness.capture.watching import ExchangeWatch, is_recorded
from harness.load.clock import yield_to_others
from harness.proxy.contract import PassingRequest
from harness.transport.payload import payload
from results.errors import StorageProblem

ENDED: Final = "the capture ended before the reply did"
EXCHANGES_ENOUGH: Final = "as many exchanges as were asked for"
BYTES_ENOUGH: Final = "as many bytes as were asked for"
_PATHS_MAX: Final = 50
_OTHER_PATHS: Final = "other paths"


@dataclass(frozen=True, slots=True)
class CaptureLimits:
    """exchanges: None means that there is no limit. stored_bytes: on the disk; the last line may pass it."""

    exchanges: int | None
    stored_bytes: int


class Recorder:
    """`watch` is what the proxy asks for each request; `run` is a task of its own. on_full: told once why no more is
    recorded; on_stored: told the number of exchanges after each."""

    def __init__(
        self,
        writer: CaptureWriter,
        header: CaptureHeader,
        scrubber: SecretScrubber,
        limits: CaptureLimits,
        *,
        now_ns: Callable[[], int],
        on_full: Callable[[str], None],
        on_stored: Callable[[int], None],
    ) -> None:
        self.open = 0
        self.stored = 0
        self.problem: StorageProblem | None = None
        self.conversations = Conversations()
        self.is_ending = False
        self._begun = 0
        self._writer = writer
        self._header = header
        self._scrubber = scrubber
        self._limits = limits
        self._now_ns = now_ns
        self._on_full = on_full
        self._on_stored = on_stored
        self._passed: Counter[str] = Counter()
        self._queue: asyncio.Queue[ExchangeWatch | None] = asyncio.Queue()
        self._is_full = False
        self._idle = asyncio.Event()
        self._idle.set()

    def __repr__(self) -> str:
        return f"Recorder({self.stored} stored, {self.open} open, {self._queue.qsize()} waiting)"

    def watch(self, request: PassingRequest) -> ExchangeWatch | None:
        """Effect: learns the secrets of the headers, whether it is recorded or not."""
        for secret in secrets_of(request.headers):
            self._scrubber.learn(secret, HEADER)
        if not is_recorded(request):
            self._pass(request.path)
            return None
        if self._is_full:
            return None
        self.open += 1
        self._idle.clear()
        self._begun += 1
        if self._begun == self._limits.exchanges:
            self._is_full = True
        return ExchangeWatch(request, self._now_ns, self._ended)

    async def run(self) -> None:
        """Until `finish`. A full disk ends the recording, not the traffic."""
        while (watch := await self._queue.get()) is not None:
            if self.problem is None:
                try:
                    await self._store(watch)
                except RecursionError:
                    # Nested so deeply that nobody can look for secrets in it, so it must not be kept.
                    self._leave_out(watch)
                except StorageProblem as problem:
                    self.problem = problem
                    self._full(str(problem))

    async def last_replies(self) -> None:
        """Until no recorded exchange is open any more. Effect: none begins from now on."""
        self._is_full = True
        await self._idle.wait()

    def finish(self) -> None:
        """No more exchanges come; `run` returns when those that have ended are stored."""
        self._queue.put_nowait(None)

    def close(self, finished: str, ended_by: str) -> CaptureHeader:
        """Effect: writes the header. Raises: StorageProblem, also that which ended the recording."""
        header = replace(
            self._header,
            finished=finished,
            exchanges=self.stored,
            passed={self._scrubber.text(path): count for path, count in self._passed.most_common()},
            scrubbed=dict(self._scrubber.counts.most_common()),
            ended_by=ended_by,
        )
        self._writer.close(header, self._scrubber.spelled())
        if self.problem is not None:
            raise self.problem
        return header

    def _ended(self, watch: ExchangeWatch) -> None:
        self.open -= 1
        if self.is_ending and watch.fault is not None:
            watch.fault = ENDED
        self._queue.put_nowait(watch)
        if self.open == 0:
            self._idle.set()

    async def _store(self, watch: ExchangeWatch) -> None:
        body, _ = payload(watch.body)
        if not isinstance(body, dict):
            self._leave_out(watch)
            return
        reply, first_token_ns, error = await watch.reply()
        await yield_to_others()
        exchange = Exchange(
            id=f"x{self.stored + 1:06d}",
            arrived_ns=watch.arrived_ns,
            path=self._scrubber.text(watch.path),
            body=await self._clean(body),
            status=watch.status,
            reply=msgspec.convert(await self._clean(msgspec.to_builtins(reply)), CapturedReply),
            first_token_ns=first_token_ns,
            ended_ns=watch.ended_ns,
            error=None if error is None else self._scrubber.text(error),
        )
        self._writer.append(exchange)
        self.conversations.add(exchange.body)
        self.stored += 1
        self._on_stored(self.stored)
        if self._writer.stored_bytes >= self._limits.stored_bytes:
            self._full(BYTES_ENOUGH)
        elif self.stored == self._limits.exchanges:
            self._full(EXCHANGES_ENOUGH)

    async def _clean(self, fields: dict[str, Any]) -> dict[str, Any]:
        """Again, where a later message has given a secret away that an earlier one holds."""
        while True:
            known = self._scrubber.generation
            cleaned = {}
            for name, value in fields.items():
                if name == "messages" and isinstance(value, list):
                    cleaned[name] = [await self._one(message) for message in value]
                else:
                    cleaned |= self._scrubber.value({name: value})
                    await yield_to_others()
            if self._scrubber.generation == known:
                return cleaned

    async def _one(self, message: Any) -> Any:
        cleaned = self._scrubber.value(message)
        await yield_to_others()
        return cleaned

    def _leave_out(self, watch: ExchangeWatch) -> None:
        """It took the place of one that can be recorded."""
        self._pass(watch.path)
        self._begun -= 1
        self._is_full = self._is_full and self._begun + 1 != self._limits.exchanges

    def _full(self, reason: str) -> None:
        self._is_full = True
        self._on_full(reason)

    def _pass(self, path: str) -> None:
        is_known = path in self._passed or len(self._passed) < _PATHS_MAX
        self._passed[path if is_known else _OTHER_PATHS] += 1
