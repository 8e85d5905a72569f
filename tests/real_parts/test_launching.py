"""Processes of other people's servers: waited for, told apart from those that do not come up, and gone afterwards."""

from __future__ import annotations

import sys
from pathlib import Path

import psutil
import pytest

from benchmarks.live.launching import HOST, Launch, ServerProblem, answer, free_ports, running

SERVES = (
    "import sys; from http.server import HTTPServer, SimpleHTTPRequestHandler; "
    "HTTPServer(('127.0.0.1', int(sys.argv[1])), SimpleHTTPRequestHandler).serve_forever()"
)
STARTS_ANOTHER = (
    "import subprocess, sys, time; "
    "print(subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)']).pid, flush=True); time.sleep(600)"
)
IGNORES_THE_END = (
    "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('up', flush=True); time.sleep(600)"
)


def is_alive(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def python(name: str, code: str, *words: str, **fields: object) -> Launch:
    return Launch(name, (sys.executable, "-c", code, *words), **{"ready": None, **fields})  # type: ignore[arg-type]


def test_server_is_ready_inside_and_gone_afterwards(tmp_path: Path) -> None:
    (port,) = free_ports(1)
    with running(python("server", SERVES, str(port), ready=(port, "/")), tmp_path) as process:
        assert answer(port, "/")[0] == 200
        assert process.memory_mb() > 1
        assert process.start_s > 0
    assert answer(port, "/") == (0, b"")
    assert not process.is_running
    assert process.memory_mb() == 0


def test_one_that_ends_is_told_with_its_last_words(tmp_path: Path) -> None:
    launch = python("server", "print('no such model'); raise SystemExit(7)", ready=(free_ports(1)[0], "/"))
    told = r"(?s)server ended with exit code 7; its log, .*ends with:\nno such model"
    with pytest.raises(ServerProblem, match=told), running(launch, tmp_path):
        pass


def test_one_that_never_answers_is_given_up_and_stopped(tmp_path: Path) -> None:
    launch = python("server", STARTS_ANOTHER, ready=(free_ports(1)[0], "/"), patience_s=0.3)
    with pytest.raises(ServerProblem, match=r"was not ready within 0\.3 s"), running(launch, tmp_path):
        pass


def test_what_it_started_ends_with_it_and_nothing_is_waited_for_longer_than_asked(tmp_path: Path) -> None:
    for code in (STARTS_ANOTHER, IGNORES_THE_END):
        with running(python("server", code, end_s=0.2), tmp_path) as process:
            log = tmp_path / "server.log"
            while not log.read_text(encoding="utf-8").strip():
                assert process.is_running
            said = log.read_text(encoding="utf-8").split()[0]
        assert not process.is_running
        while said != "up" and is_alive(int(said)):
            # Killed, and not yet gone; one that was missed would keep the test until its limit.
            pass


def test_ports_are_different_and_on_loopback() -> None:
    assert HOST == "127.0.0.1"
    assert len(set(free_ports(20))) == 20
