"""A server that nobody here wrote, as a process of its own: started, waited for, and ended by its process id.

Owns: the environment it gets, where its output goes, what is said when it does not come up, and that nothing of it
stays behind. Does not own: which words start which server (one file for each of them). Source: ours;
facts/real-servers.md (a port just given up cannot be had again at once, so each server gets a new one).
"""

from __future__ import annotations

import http.client
import os
import signal
import socket
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from benchmarks.live.clock import now_s, wait_s

HOST = "127.0.0.1"
_POLL_S = 0.05
_LINES_SHOWN = 30


class ServerProblem(Exception):
    """A server did not come up, or ended while it was needed; the sentence ends with the last lines of its log."""

    def __init__(self, name: str, what: str, log: Path) -> None:
        self.log = log
        tail = "\n".join(log.read_text(encoding="utf-8", errors="replace").splitlines()[-_LINES_SHOWN:])
        super().__init__(f"{name} {what}; its log, {log}, ends with:\n{tail}")


@dataclass(frozen=True, slots=True)
class Launch:
    """How to start one process. ready: (port, path) that answers 200 once it serves; None: nothing to wait for.

    environment: on top of this process's own. patience_s: for its start. end_s: for its end, before it is killed.
    """

    name: str
    words: Sequence[str]
    ready: tuple[int, str] | None
    environment: Mapping[str, str] = field(default_factory=dict)
    patience_s: float = 60.0
    end_s: float = 15.0


@dataclass(slots=True, eq=False)
class Process:
    """One that runs. start_s: from its start until it was ready."""

    name: str
    popen: subprocess.Popen[bytes]
    log: Path
    start_s: float = 0.0

    @property
    def is_running(self) -> bool:
        return self.popen.poll() is None

    def memory_mb(self) -> float:
        """Resident, of the process and its children. 0 once it has ended."""
        try:
            whole = psutil.Process(self.popen.pid)
            return sum(one.memory_info().rss for one in (whole, *whole.children(recursive=True))) / 1e6
        except psutil.NoSuchProcess:
            return 0.0

    def kill(self) -> None:
        """As a crash: at once, and with it what it started."""
        self._signal(signal.SIGKILL)
        self.popen.wait()

    def stop(self, end_s: float) -> None:
        """As an operator would, and by force where it does not listen."""
        self._signal(signal.SIGTERM)
        # Its children share its group, so they are reached also when it has ended before them.
        with suppress(subprocess.TimeoutExpired):
            self.popen.wait(end_s)
        self.kill()

    def _signal(self, number: int) -> None:
        # It may have ended, and all of its group with it.
        with suppress(ProcessLookupError):
            os.killpg(self.popen.pid, number)


@contextmanager
def running(launch: Launch, folder: Path) -> Iterator[Process]:
    """The process, ready, and gone afterwards; its output is in `folder`. Raises: ServerProblem."""
    log = folder / f"{launch.name}.log"
    with log.open("wb") as output:
        began_s = now_s()
        popen = subprocess.Popen(
            list(launch.words),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env=_environment(launch.environment),
            cwd=folder,
            start_new_session=True,
        )
    process = Process(launch.name, popen, log)
    try:
        _wait_until_ready(launch, process)
        process.start_s = round(now_s() - began_s, 1)
        yield process
    finally:
        process.stop(launch.end_s)


def _wait_until_ready(launch: Launch, process: Process) -> None:
    if launch.ready is None:
        return
    ends_s = now_s() + launch.patience_s
    while answer(*launch.ready)[0] != 200:
        if not process.is_running:
            raise ServerProblem(launch.name, f"ended with exit code {process.popen.returncode}", process.log)
        if now_s() > ends_s:
            raise ServerProblem(launch.name, f"was not ready within {launch.patience_s:g} s", process.log)
        wait_s(_POLL_S)


def answer(port: int, path: str, *, timeout_s: float = 5.0) -> tuple[int, bytes]:
    """Status and body of a GET on loopback, never through a proxy; status 0 where nobody answers."""
    connection = http.client.HTTPConnection(HOST, port, timeout=timeout_s)
    try:
        connection.request("GET", path)
        response = connection.getresponse()
        return response.status, response.read()
    except (OSError, http.client.HTTPException):
        return 0, b""
    finally:
        connection.close()


def free_ports(count: int) -> list[int]:
    """Different ones that nobody listens on now."""
    with ExitStack() as stack:
        # All at once: a port that is given back may be the next one to be given out.
        probes = [stack.enter_context(socket.socket()) for _ in range(count)]
        for probe in probes:
            probe.bind((HOST, 0))
        return [int(probe.getsockname()[1]) for probe in probes]


def _environment(own: Mapping[str, str]) -> dict[str, str]:
    """Without proxies: every address here is on this machine."""
    kept = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}
    return {**kept, "PYTHONUNBUFFERED": "1", **own}
