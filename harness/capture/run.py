"""One capture: the proxy up, the recorder behind it, until somebody or something ends it.

Owns: the life of a capture, also of one that is stopped. Does not own: the proxy, the recorder. Floor 5. Source: ours.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from harness.capture.record import CaptureHeader
from harness.capture.recorder import CaptureLimits, Recorder
from harness.capture.scrubbing.scrubber import ScrubRules, SecretScrubber
from harness.capture.store import CaptureWriter
from harness.load.clock import WallClock
from harness.proxy.passing import ReverseProxy
from harness.simulation import provenance
from results.layout import remove_folder

INTERRUPTED = "interrupted"
DURATION_SPENT = "the duration is over"
FAILED = "failed"
LAST_REPLIES_S = 120.0
"""How long open replies may go on once the capture has what was asked for."""


@dataclass(frozen=True, slots=True)
class CaptureRequest:
    """What to record, where to keep it, and when to end. out: parent of the capture's folder."""

    upstream: str
    out: Path
    rules: ScrubRules
    limits: CaptureLimits
    host: str = "127.0.0.1"
    port: int = 0
    duration_s: float | None = None
    use_environment_proxies: bool = False
    on_stored: Callable[[int], None] = field(default=lambda _: None)


@dataclass(frozen=True, slots=True)
class CaptureResult:
    """What was recorded. sessions: conversations that the requests seem to be."""

    path: Path
    header: CaptureHeader
    sessions: int
    stored_bytes: int


class CaptureRun:
    """`stop` may be called from a signal handler: open replies are recorded as far as they came."""

    def __init__(self, request: CaptureRequest) -> None:
        """Effect: makes the folder. Raises: StorageProblem."""
        began = provenance.utc_now()
        self._request = request
        self._ended_by: str | None = None
        self._stop, self._interrupt = asyncio.Event(), asyncio.Event()
        header = CaptureHeader(
            upstream=request.upstream,
            started=began.isoformat(timespec="seconds"),
            scrubbing=request.rules.sentence(),
            versions=provenance.versions(),
        )
        self._writer = CaptureWriter(request.out, began.strftime("%Y%m%dT%H%M%SZ"), header)
        clock = WallClock()
        self._recorder = Recorder(
            self._writer,
            header,
            SecretScrubber(request.rules),
            request.limits,
            now_ns=lambda: clock.now_ns,
            on_full=self._end,
            on_stored=request.on_stored,
        )

    def stop(self) -> None:
        self._interrupt.set()
        self._end(INTERRUPTED)

    def _end(self, reason: str) -> None:
        self._ended_by = self._ended_by or reason
        self._stop.set()

    async def run(self, on_ready: Callable[[str], None]) -> CaptureResult:
        """on_ready: told the base URL for clients. Raises: EnvironmentProblem, StorageProblem."""
        request, recorder = self._request, self._recorder
        proxy = ReverseProxy(
            request.upstream, watch=recorder.watch, host=request.host, port=request.port,
            use_environment_proxies=request.use_environment_proxies,
        )  # fmt: skip
        storing, is_begun = asyncio.ensure_future(recorder.run()), False
        try:
            async with proxy:
                on_ready(proxy.base_url)
                is_begun = True
                await self._until_ended()
                recorder.is_ending = True
        finally:
            recorder.finish()
            await storing
            header = recorder.close(provenance.utc_now().isoformat(timespec="seconds"), self._ended_by or FAILED)
            if not is_begun:
                remove_folder(self._writer.path)
        return CaptureResult(self._writer.path, header, recorder.conversations.count, self._writer.stored_bytes)

    async def _until_ended(self) -> None:
        try:
            async with asyncio.timeout(self._request.duration_s):
                await self._stop.wait()
        except TimeoutError:
            self._end(DURATION_SPENT)
        waits = [asyncio.ensure_future(self._interrupt.wait()), asyncio.ensure_future(self._recorder.last_replies())]
        await asyncio.wait(waits, timeout=LAST_REPLIES_S, return_when=asyncio.FIRST_COMPLETED)
        for wait in waits:
            wait.cancel()
