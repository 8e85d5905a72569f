"""An OpenAI-compatible server that knows every right answer, and goes wrong in a chosen way for chosen requests.

Owns: the faults of real servers, one function each, and the counting of what was asked. Does not own: what a run must
make of them. Floor: tests. Source: the shapes of facts/real-servers.md section 1 and facts/formats.md section 3.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from harness.live.preflight import EXPECTED_ARGUMENTS
from harness.load.workload import Workload
from tests.harness.transport.byte_server import chunked, head
from tests.harness.transport.streams import DONE, call, chunk, event

MODEL = "fault-model"
Answers = Mapping[str, tuple[str, str]]

HARMLESS = ("ok", "drip", "no_done", "slow_down", "closes", "late_usage", "split_call")
HARMFUL = ("reset", "half", "half_reset", "error_in_200", "too_long", "too_short", "server_error", "hang", "not_http",
           "cut_call", "json_error_200")  # fmt: skip


def answers_of(workload: Workload) -> dict[str, tuple[str, str]]:
    """By request name: the call that is right."""
    return {
        f"s{plan.session:04d}-t{turn:02d}": (planned.expected.name, planned.expected.arguments_text)
        for plan in workload.sessions
        for turn, planned in enumerate(plan.turns)
    }


@dataclass(slots=True)
class FaultServer:
    """faults: request name -> fault; requests without one are answered well. dies_after: chat requests.

    facts: of each listed model.
    """

    answers: Answers
    faults: Mapping[str, str] = field(default_factory=dict)
    dies_after: int | None = None
    models: tuple[str, ...] = (MODEL,)
    facts: Mapping[str, object] = field(default_factory=dict)
    usage: Mapping[str, int] = field(default_factory=lambda: {"prompt_tokens": 100, "completion_tokens": 9})
    takes_tools: bool = True
    refuses_key: bool = False
    retry_after: str = "0"
    url: str = ""
    asked: Counter[str] = field(default_factory=Counter)
    heads: list[bytes] = field(default_factory=list)
    tasks: set[asyncio.Task[None]] = field(default_factory=set)

    def connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.tasks.add(asyncio.ensure_future(self._connection(reader, writer)))

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while await self._request(reader, writer):
                await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            return
        finally:
            writer.close()

    async def _request(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Whether the connection goes on."""
        top = await reader.readuntil(b"\r\n\r\n")
        self.heads.append(top)
        if self.refuses_key:
            shown = top.decode().partition("uthorization: Bearer ")[2].partition("\r\n")[0]
            return _whole(writer, {"error": {"message": f"Incorrect API key provided: {shown}"}}, "401 Unauthorized")
        if top.startswith(b"GET /v1/models"):
            return _whole(writer, {"data": [{"id": name, **self.facts} for name in self.models]})
        if not top.startswith(b"POST /v1/chat/completions "):
            return _whole(writer, {"error": {"message": "no such page"}}, "404 Not Found")
        length = int(top.lower().partition(b"content-length: ")[2].split(b"\r\n")[0])
        body = json.loads(await reader.readexactly(length))
        name = body["user"]
        self.asked[name] += 1
        if self.dies_after is not None and self.asked.total() > self.dies_after:
            writer.transport.abort()
            return False
        if body.get("tools") and not self.takes_tools:
            return _whole(writer, {"error": {"message": "tools are not enabled"}}, "400 Bad Request")
        tool, arguments = self.answers.get(name, ("open_door", json.dumps(EXPECTED_ARGUMENTS)))
        return await self._answer(writer, self.faults.get(name, "ok"), name, tool, arguments)

    async def _answer(self, writer: asyncio.StreamWriter, fault: str, name: str, tool: str, text: str) -> bool:
        start = chunk({"role": "assistant", "content": ""}) + chunk(call("", index=0, id="c1", name=tool))
        rest = chunk(call(text, index=0, id=None, name=None))
        stop = chunk({}, reason="tool_calls")
        usage = event({"choices": [], "usage": self.usage})
        good = start + rest + stop + usage + DONE
        match fault:
            case "ok":
                writer.write(head() + b"".join(chunked(good)))
            case "drip":
                raw = head() + b"".join(chunked(good))
                for at in range(0, len(raw), 3):
                    writer.write(raw[at : at + 3])
                    await writer.drain()
            case "no_done":
                writer.write(head() + b"".join(chunked(start + rest + stop)))
            case "late_usage":
                writer.write(head() + b"".join(chunked(start, rest + stop, ": ping\n\n" + usage + DONE)))
            case "split_call":
                pieces = [chunk(call(text[at : at + 5], index=0)) for at in range(0, len(text), 5)]
                writer.write(head() + b"".join(chunked(start, *pieces, stop + DONE)))
            case "closes":
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n" + good.encode())
                return False
            case "slow_down":
                if self.asked[name] == 1:
                    refusal = b'{"error": {"message": "slow down"}}'
                    status = f"429 Too Many Requests\r\nRetry-After: {self.retry_after}"
                    writer.write(head(status, kind="application/json", length=len(refusal)) + refusal)
                else:
                    writer.write(head() + b"".join(chunked(good)))
            case _:
                return await _go_wrong(writer, fault, start, rest, good)
        return True


async def _go_wrong(writer: asyncio.StreamWriter, fault: str, start: str, rest: str, good: str) -> bool:
    match fault:
        case "reset":
            writer.transport.abort()
        case "half" | "half_reset":
            writer.write(head() + b"".join(chunked(start + rest[:40], ends=False)))
            await writer.drain()
            if fault == "half_reset":
                writer.transport.abort()
        case "cut_call":
            # An orderly end in the middle of the arguments, as a router makes it.
            writer.write(head() + b"".join(chunked(start + rest[: rest.index('"arguments"') + 30])))
            return True
        case "error_in_200":
            writer.write(head() + b"".join(chunked(start + event({"error": {"message": "abort"}}) + DONE)))
            return True
        case "json_error_200":
            return _whole(writer, {"error": {"message": "the scheduler is gone"}})
        case "too_long":
            part = (start + rest[:60]).encode()
            writer.write(head(length=len(part) + 50) + part)
        case "too_short":
            writer.write(head(length=len(start.encode()) + 20) + good.encode())
            return False
        case "server_error":
            return _whole(writer, {"error": {"message": "boom"}}, "500 Internal Server Error")
        case "hang":
            writer.write(head() + b"".join(chunked(start, ends=False)))
            await asyncio.Event().wait()
        case "mute":
            await asyncio.Event().wait()
        case "not_http":
            writer.write(b"+PONG\r\n")
        case _:
            raise AssertionError(fault)
    return False


def _whole(writer: asyncio.StreamWriter, fields: object, status: str = "200 OK") -> bool:
    body = json.dumps(fields).encode()
    writer.write(head(status, kind="application/json", length=len(body)) + body)
    return True


@asynccontextmanager
async def serving(server: FaultServer) -> AsyncIterator[FaultServer]:
    listening = await asyncio.start_server(server.connected, "127.0.0.1", 0)
    server.url = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}/v1"
    async with listening:
        try:
            yield server
        finally:
            for task in server.tasks:
                task.cancel()
            if server.tasks:
                await asyncio.wait(server.tasks)
