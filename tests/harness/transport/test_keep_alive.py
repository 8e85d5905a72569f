"""Keep-alive is no sign of life: no client waits longer for a server that only pings, or reads one that never ends."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import count
from types import SimpleNamespace
from typing import Any

import pytest

from harness.live.stress_request import TRANSPORTS
from harness.transport.contract import ChatRequest, Reply, TransportOptions
from harness.transport.errors import EngineProtocolError, EngineTimeout
from harness.transport.keep_alive import KeepAlive, SilenceLimit
from harness.transport.raw.connection import Connection, Silence
from tests.harness.transport.byte_server import chunked, head
from tests.harness.transport.streams import chunk

REQUEST = ChatRequest("r", "m", [{"role": "user", "content": "x"}])
HI = chunk({"content": "hi"})


@asynccontextmanager
async def endless(start: bytes, again: bytes, *, pause_s: float) -> AsyncIterator[str]:
    """A server that begins its answer and then says the same again and again."""
    tasks: set[asyncio.Task[None]] = set()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(start)
            while True:
                writer.write(again)
                await writer.drain()
                await asyncio.sleep(pause_s)
        except ConnectionError:
            return
        finally:
            writer.close()

    def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        tasks.add(asyncio.ensure_future(answer(reader, writer)))

    listening = await asyncio.start_server(connected, "127.0.0.1", 0)
    async with listening:
        yield f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}/v1"
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)


async def asked(kind: str, url: str, *, stream: bool = True, limit_s: float = 20.0) -> Reply:
    ticks = count(100)
    transport = TRANSPORTS[kind](TransportOptions(url, read_timeout_s=limit_s), now_ns=lambda: next(ticks))
    request = REQUEST if stream else ChatRequest("r", "m", REQUEST.messages, stream=False)
    try:
        async with asyncio.timeout(30):
            return await transport.chat(request)
    finally:
        await transport.close()


@pytest.mark.asyncio
@pytest.mark.parametrize("kind", TRANSPORTS)
@pytest.mark.parametrize("said", ["", HI], ids=["before the first token", "after it"])
async def test_server_that_only_pings_is_silent(kind: str, said: str) -> None:
    start = head() + b"".join(chunked(said, ends=False) if said else ())
    (ping,) = chunked(": ping\n\n", ends=False)
    async with endless(start, ping, pause_s=0.02) as url:
        reply = await asked(kind, url, limit_s=0.2)
    assert isinstance(reply.error, EngineTimeout)
    assert (reply.error.phase, reply.error.limit_s, reply.content) == ("read", 0.2, "hi" if said else "")


@pytest.mark.asyncio
@pytest.mark.parametrize("kind", ["raw", "aiohttp"])
async def test_empty_lines_before_an_answer_that_never_comes(kind: str) -> None:
    start = head(kind="application/json")
    async with endless(start, b"1\r\n\n\r\n", pause_s=0.02) as url:
        reply = await asked(kind, url, stream=False, limit_s=0.2)
    assert reply.error is not None


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("kind", "content_type"),
    [(kind, "text/event-stream") for kind in TRANSPORTS] + [(kind, "application/json") for kind in ("raw", "aiohttp")],
)
async def test_answer_without_an_end_is_not_read_for_ever(
    kind: str, content_type: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("reply", "over_aiohttp", "raw.connection"):
        monkeypatch.setattr(f"harness.transport.{module}.ANSWER_BYTES_MAX", 5_000, raising=False)
    (piece,) = chunked(HI, ends=False) if content_type != "application/json" else chunked("[1, 2], " * 40, ends=False)
    async with endless(head(kind=content_type), piece, pause_s=0.0) as url:
        reply = await asked(kind, url, stream=content_type == "text/event-stream")
    assert isinstance(reply.error, EngineProtocolError)
    assert reply.error.fault == "oversized"


@pytest.mark.parametrize(
    ("body", "is_all"),
    [
        (": ping\n\n", True), (":\n", True), ("\n\n", True), ("\r\n: a\r\n\r\n:b", True), (": data: x\n", True),
        ("data: x\n\n", False), (": ping\n\ndata: x\n\n", False), ("\ndata: x", False), ('{"a"', False),
        ('{"a"\n: 3}', False), ("{\n", False), ('{"a": 1}\n', False),
    ],
)  # fmt: skip
def test_keep_alive_is_told_however_it_is_cut(body: str, is_all: bool) -> None:
    raw = body.encode()
    for at in range(len(raw) + 1):
        keep_alive = KeepAlive()
        both = [keep_alive.is_all(raw[:at]), keep_alive.is_all(raw[at:])]
        assert all(both) is is_all, at
    bytewise = KeepAlive()
    each = [bytewise.is_all(raw[at : at + 1]) for at in range(len(raw))]
    assert all(each) is is_all


def test_colon_in_the_middle_of_a_line_is_no_comment() -> None:
    keep_alive = KeepAlive()
    assert [keep_alive.is_all(piece) for piece in (b'{"a"', b": 3, ", b'"b"', b":", b"4}")] == [False] * 5


def test_limit_counts_from_the_last_sign_of_life() -> None:
    now = [0.0]
    silence = SilenceLimit(10.0, lambda: now[0])
    for at_s, piece in ((9.0, b": ping\n\n"), (9.5, b"data: x\n\n"), (19.0, b": ping\n\n"), (19.4, b"\n")):
        now[0] = at_s
        silence.came(piece)
    now[0] = 19.5
    with pytest.raises(TimeoutError):
        silence.came(b": ping\n\n")
    SilenceLimit(None, lambda: now[0]).came(b":\n")


@dataclass(eq=False)
class Timer:
    at_s: float
    run: Callable[[], None]
    is_cancelled: bool = False

    def cancel(self) -> None:
        self.is_cancelled = True


@dataclass
class FakeLoop:
    """Time that goes on when it is told to."""

    real: asyncio.AbstractEventLoop
    now_s: float = 0.0
    timers: list[Timer] = field(default_factory=list)

    def time(self) -> float:
        return self.now_s

    def create_future(self) -> asyncio.Future[None]:
        return self.real.create_future()

    def call_later(self, delay_s: float, callback: Callable[..., None], *words: Any) -> Timer:
        self.timers.append(Timer(self.now_s + delay_s, lambda: callback(*words)))
        return self.timers[-1]

    def call_soon(self, callback: Callable[..., None], *words: Any) -> Timer:
        return self.call_later(0.0, callback, *words)

    def go_to(self, until_s: float) -> None:
        while due := [timer for timer in self.timers if timer.at_s <= until_s and not timer.is_cancelled]:
            first = min(due, key=lambda timer: timer.at_s)
            self.timers.remove(first)
            self.now_s = max(self.now_s, first.at_s)
            first.run()
        self.now_s = until_s


class Wire(asyncio.Transport):
    def write(self, data: object) -> None: ...

    def abort(self) -> None: ...

    def is_closing(self) -> bool:
        return False


@pytest.mark.asyncio
async def test_measuring_client_waits_on_for_data_and_not_for_comments(monkeypatch: pytest.MonkeyPatch) -> None:
    loop = FakeLoop(asyncio.get_running_loop())
    fake = SimpleNamespace(**vars(asyncio) | {"get_running_loop": lambda: loop})
    monkeypatch.setattr("harness.transport.raw.connection.asyncio", fake)
    connection = Connection(lambda: 0, lambda _: None)
    connection.connection_made(Wire())
    exchange = asyncio.ensure_future(connection.exchange(b"POST", silence_s=10.0))
    await asyncio.sleep(0)
    (ping,), (data,) = chunked(": ping\n\n", ends=False), chunked(HI, ends=False)
    # The head counts, with a comment behind it as well; then 9 s of comments, and a piece of text that counts.
    for at_s, piece in ((8.0, head() + ping), (13.0, ping), (17.0, ping), (17.5, data), (22.0, ping), (27.4, ping)):
        loop.go_to(at_s)
        assert not exchange.done()
        connection.data_received(piece)
    loop.go_to(27.49)
    await asyncio.sleep(0)
    assert not exchange.done()
    loop.go_to(27.5)
    assert isinstance((await exchange).fault, Silence)
