"""Requests that are known to be hard on the others, sent while their blocks last.

Owns: the kinds, and their beginning and end. Does not own: the blocks (`neighbour.py`), what they cost. Floor 5.
Source: the performance pathologies of GRIEF (facts/peers.md): long prompts and long answers beside short ones, bursts,
clients that hang up.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final, Protocol

from harness.live.limits import TokenBudget
from harness.live.process_group import tell_group
from harness.load.clock import Clock
from harness.transport.contract import ChatRequest, Transport

PROMPT_TOKENS: Final = 16_000
_TOKENS_A_WORD: Final = 5
_SHORT_WORDS: Final = 30
_SHORT_TOKENS: Final = 64
_ANSWER_TOKENS: Final = 4_096
_HANG_UP_NS: Final = 500_000_000
_REST_NS: Final = 100_000_000
_END_S: Final = 5
_TASK: Final = "Count upwards from 1, one number a line, and never stop."


@dataclass(frozen=True, slots=True)
class ToxicKind:
    """streams: requests at once. prompt_share: of a long prompt; 0 is a short one. tokens: of an answer, at most.

    hangs_up: after half a second.
    """

    streams: int
    prompt_share: float
    tokens: int
    hangs_up: bool = False


TOXIC: Final = MappingProxyType({
    "long-prompt": ToxicKind(1, 1.0, 8),
    "long-answer": ToxicKind(8, 0.0, _ANSWER_TOKENS),
    "burst": ToxicKind(32, 0.0, _SHORT_TOKENS),
    "abort": ToxicKind(4, 0.25, _ANSWER_TOKENS, hangs_up=True),
})  # fmt: skip


class Poison(Protocol):
    """sent: how often something was begun; failed: of these. note: what went wrong last, in words."""

    sent: int
    failed: int
    note: str

    async def run(self) -> None:
        """One block's worth of it: until cancelled. Effect: nothing of it is left afterwards."""


class ToxicRequests:
    """make: a client of its own for each block, so that its connections end with it. prompt_tokens: of a long one,
    about."""

    def __init__(
        self, kind: ToxicKind, model: str, make: Callable[[], Transport], clock: Clock, budget: TokenBudget, *,
        prompt_tokens: int,
    ) -> None:  # fmt: skip
        self.sent = 0
        self.failed = 0
        self.note = ""
        self._kind = kind
        self._words = max(_SHORT_WORDS, round(prompt_tokens * kind.prompt_share) // _TOKENS_A_WORD)
        self._model = model
        self._make = make
        self._clock = clock
        self._budget = budget

    async def run(self) -> None:
        transport = self._make()
        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(self._kind.streams):
                    group.create_task(self._stream(transport))
        finally:
            await transport.close()

    async def _stream(self, transport: Transport) -> None:
        kind = self._kind
        while self._budget.spend(self._words * _TOKENS_A_WORD + kind.tokens):
            self.sent += 1
            # Each prompt begins with its own number: nothing of it may come from the cache.
            words = " ".join(f"{self.sent}-{place}" for place in range(self._words))
            messages = [{"role": "user", "content": f"{words}\n{_TASK}"}]
            request = ChatRequest(f"toxic-{self.sent:06d}", self._model, messages, max_tokens=kind.tokens)
            await self._exchange(transport.chat(request))
        self.note = "the token budget ended the toxic load early"

    async def _exchange(self, exchange: Coroutine[Any, Any, Any]) -> None:
        asked = asyncio.ensure_future(exchange)
        try:
            if self._kind.hangs_up:
                await self._clock.sleep_until(self._clock.now_ns + _HANG_UP_NS, (), awake="toxic")
                return
            error = (await asked).error
            if error is not None:
                self.failed += 1
                self.note = f"a toxic request failed: {error}"
                await self._clock.sleep_until(self._clock.now_ns + _REST_NS, (), awake="toxic")
        finally:
            asked.cancel()
            await asyncio.wait([asked])


class ToxicCommand:
    """A command of the user's, started at the beginning of each block and ended with it, with all that it started."""

    def __init__(self, command: str) -> None:
        self.sent = 0
        self.failed = 0
        self.note = ""
        self._command = command

    async def run(self) -> None:
        self.sent += 1
        nothing = asyncio.subprocess.DEVNULL
        try:
            process = await asyncio.create_subprocess_shell(
                self._command, stdin=nothing, stdout=nothing, stderr=nothing, start_new_session=True
            )
        except OSError as problem:
            # The run goes on without its neighbour, and says so.
            self.failed += 1
            self.note = f"the toxic command cannot be started: {problem.strerror}"
            return
        try:
            code = await process.wait()
            if code:
                self.failed += 1
                self.note = f"the toxic command ended by itself with {code}"
            await asyncio.Event().wait()
        finally:
            await _end(process)


async def _end(process: asyncio.subprocess.Process) -> None:
    """First kindly, then what is left of its group, which is its own: nobody else is hit."""
    if process.returncode is None:
        tell_group(process.pid, signal.SIGTERM)
        try:
            async with asyncio.timeout(_END_S):
                await process.wait()
        except TimeoutError:
            pass
    tell_group(process.pid, signal.SIGKILL)
    await process.wait()
