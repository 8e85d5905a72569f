"""A server started, waited for and stopped by the user's own commands.

Owns: the process and its group, its log, and that it has ended when the block is left. Does not own: which command
(`command.py`), what is asked of it. Only what was started here is ever ended. Floor 5. Source: ours.
"""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
from collections import deque
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import IO, Final

from harness.live.preflight import list_models
from harness.live.process_group import tell_group
from harness.load.clock import WallClock
from harness.transport.contract import TransportOptions
from harness.triage.command import ServerCommand
from kernels.errors import EnvironmentProblem

_POLL_NS: Final = 250_000_000
_LAST_LINES: Final = 5


class ServerFailed(EnvironmentProblem):
    """The server did not come up. tail: the last lines of its log."""

    def __init__(self, what: str, log: Path) -> None:
        self.tail = last_lines(log)
        said = f"; its last words: {' / '.join(self.tail)}" if self.tail else ""
        super().__init__(f"{what}{said}", remedy=f"read {log}")


class Server:
    """`with Server(...):` it answers inside, unless `should_stop` said so first.

    on_loop: given the event loop of the wait, for signals. ready_s, stop_s: how long to wait for either.
    """

    def __init__(
        self,
        command: ServerCommand,
        *,
        log: Path,
        ready_s: float,
        stop_s: float,
        should_stop: Callable[[], bool],
        on_loop: Callable[[asyncio.AbstractEventLoop], None],
    ) -> None:
        self._command = command
        self._log = log
        self._ready_s = ready_s
        self._stop_s = stop_s
        self._should_stop = should_stop
        self._on_loop = on_loop
        self._clock = WallClock()
        self._process: subprocess.Popen[bytes] | None = None

    def __repr__(self) -> str:
        return f"Server({' '.join(self._command.words)})"

    def __enter__(self) -> Server:
        """Raises: ServerFailed where it ends, or does not answer in time; it has been ended then."""
        with self._log.open("ab") as out:
            self._process = self._start(out)
        try:
            asyncio.run(self._ready(self._process))
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end()

    def _start(self, out: IO[bytes]) -> subprocess.Popen[bytes]:
        try:
            # A session of its own: Ctrl-C in the terminal is ours to hear, and all its children end with it.
            return subprocess.Popen(
                self._command.words,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                env={**os.environ, **self._command.environment},
                start_new_session=True,
            )
        except OSError as problem:
            what = f"'{self._command.words[0]}' cannot be started: {problem.strerror}"
            raise EnvironmentProblem(what, remedy="check server.start") from None

    async def _ready(self, process: subprocess.Popen[bytes]) -> None:
        self._on_loop(asyncio.get_running_loop())
        until_ns = self._clock.now_ns + round(self._ready_s * 1e9)
        while not self._should_stop():
            if process.poll() is not None and not self._command.stop:
                # A command with a stop command of its own may have handed the server to somebody else.
                raise ServerFailed(f"the server ended with {process.returncode} before it answered", self._log)
            if await self._answers():
                return
            if self._clock.now_ns > until_ns:
                raise ServerFailed(f"the server did not answer within {self._ready_s:g} s", self._log)
            await self._clock.sleep_until(self._clock.now_ns + _POLL_NS, (), awake="")

    async def _answers(self) -> bool:
        options = TransportOptions(self._command.base_url, connect_timeout_s=5.0)
        try:
            return bool((await list_models(options)).names)
        except EnvironmentProblem:
            return False

    def _end(self) -> None:
        """The stop command, or SIGTERM to the group; then SIGKILL to whoever is left of it."""
        process = self._process
        if process is None:
            return
        try:
            if self._command.stop:
                self._run_stop_command()
            if not self._command.stop or process.poll() is None:
                tell_group(process.pid, signal.SIGTERM)
            process.wait(self._stop_s)
        except subprocess.TimeoutExpired:
            pass
        finally:
            # Also after an orderly end: workers that outlived their parent hold its port and its memory.
            tell_group(process.pid, signal.SIGKILL)
            process.wait()
            self._process = None

    def _run_stop_command(self) -> None:
        with self._log.open("ab") as out:
            try:
                subprocess.run(self._command.stop, stdin=subprocess.DEVNULL, stdout=out, stderr=out, check=False,
                               timeout=self._stop_s)  # fmt: skip
            except (OSError, subprocess.TimeoutExpired) as problem:
                out.write(f"the stop command failed: {problem}\n".encode())


def free_port() -> int:
    """A port of loopback that nobody has now."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def last_lines(log: Path) -> tuple[str, ...]:
    """The last few lines that are not empty."""
    try:
        with log.open(errors="replace") as lines:
            return tuple(deque((line.strip() for line in lines if line.strip()), maxlen=_LAST_LINES))
    except OSError:
        return ()
