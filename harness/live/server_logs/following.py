"""All logs of a run, followed while it goes on.

Owns: when they are looked at, and what a run takes home. Does not own: one log (`tail.py`), joining (`joining.py`).
Floor 5. Source: ours. Reading and matching happen in a thread: they must not make the client late. It is one thread for
all of it: a look that was given up goes on in its thread, and the last look must come behind it, not beside it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

from harness.live.server_logs.joining import RunTurns, findings_of, findings_of_errors
from harness.live.server_logs.lines import LogLines
from harness.live.server_logs.tail import LogTail, opened
from harness.live.server_logs.zones import ZoneGuess
from harness.load.clock import Clock
from results.records import TurnRecord
from results.server_log import LogFinding

_EVERY_NS: Final = 250_000_000


class FollowedLogs:
    """`async with FollowedLogs(...)`: from the end of each file at the start. now_s: seconds since 1970.

    Raises: ConfigError, where it is made, for what is no file that can be read; nothing has been sent then. No file is
    held before the start: a run may be made only to see whether it could be run.
    """

    def __init__(
        self,
        paths: Sequence[Path],
        offset_s: float | None,
        *,
        clock: Clock,
        now_s: Callable[[], float],
        scrub: Callable[[str], str],
    ) -> None:
        self.turns = RunTurns()
        self._clock = clock
        self._now_s = now_s
        self._paths = tuple(paths)
        self._offset_s = offset_s
        self._scrub = scrub
        self._tails: list[LogTail] = []
        for path in self._paths:
            opened(path).close()
        self._task: asyncio.Task[None] | None = None
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="server-logs")

    def __repr__(self) -> str:
        return f"FollowedLogs({[str(path) for path in self._paths]})"

    async def __aenter__(self) -> FollowedLogs:
        begin_s = self._now_s()
        for path in self._paths:
            lines = LogLines(str(path), ZoneGuess(self._offset_s), about_s=begin_s, scrub=self._scrub)
            self._tails.append(LogTail(path, lines, self._now_s))
        if self._tails:
            self._task = asyncio.ensure_future(self._follow())
        return self

    async def __aexit__(self, *failure: object) -> None:
        """Effect: what has come by now is read; only then there is everything."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])
        for tail in self._tails:
            await self._in_thread(tail.close)
        self._thread.shutdown(wait=False)

    def turn_ended(self, turn: TurnRecord) -> None:
        self.turns.add(turn, self._now_s())

    def findings(self) -> list[LogFinding]:
        found = findings_of_errors(self.turns)
        for tail in self._tails:
            found += findings_of(tail.lines, self.turns)
        return found

    def notes(self) -> list[str]:
        """One sentence a log: what was read, and how its times were understood."""
        notes = []
        for tail in self._tails:
            lines = tail.lines
            matter = len(lines.seen) + lines.more.total()
            said = f"{tail.path}: {lines.line_count:,} lines came, {matter:,} of them matter"
            said += f"; {lines.zone.words()}" if lines.line_count else "; is it the log of this server?"
            said += f"; rotated {tail.rotations} times" if tail.rotations else ""
            notes.append(f"{said}; {tail.note}" if tail.note else said)
        return notes

    async def _follow(self) -> None:
        while True:
            await self._clock.sleep_until(self._clock.now_ns + _EVERY_NS, (), awake="server log")
            for tail in self._tails:
                await self._in_thread(tail.poll)

    def _in_thread(self, read: Callable[[], None]) -> asyncio.Future[None]:
        return asyncio.get_running_loop().run_in_executor(self._thread, read)
