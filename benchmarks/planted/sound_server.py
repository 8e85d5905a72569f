"""A sound server: it reads the planted call out of the prompt, as any copying model would, and streams it.

Owns: the reading, by a search for the key in the request's bytes, and one process with its socket. It shares no code
with the product, so an error of ours cannot agree with itself. Does not own: any pace. Source: ours; the grammar of the
prompts is `[[key]] call` and `((key))`.

    python -m benchmarks.planted.sound_server -> prints its port, ends at SIGTERM
"""

from __future__ import annotations

import asyncio
import json
import re
import signal

MODEL = "sound"
_MODELS = json.dumps({"object": "list", "data": [{"id": MODEL, "object": "model"}]}).encode()
_LENGTH = re.compile(rb"content-length: *(\d+)", re.IGNORECASE)
_BEFORE_PAUSE = 3
_PAUSE_S = 0.002
"""Between the first pieces and the rest, so that replies are really open at the same time."""


class SoundServer(asyncio.Protocol):
    """One connection, requests one after another."""

    def __init__(self) -> None:
        self._tail = b""
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport  # type: ignore[assignment]

    def data_received(self, data: bytes) -> None:
        self._tail = self._tail + data if self._tail else data
        while self._take():
            pass

    def _take(self) -> bool:
        head_end = self._tail.find(b"\r\n\r\n")
        if head_end < 0:
            return False
        length = _LENGTH.search(self._tail, 0, head_end)
        end = head_end + 4 + (int(length[1]) if length else 0)
        if len(self._tail) < end:
            return False
        head, body, self._tail = self._tail[:head_end], self._tail[head_end + 4 : end], self._tail[end:]
        pieces = answer(head, body)
        self._write(pieces[:_BEFORE_PAUSE])
        if len(pieces) > _BEFORE_PAUSE:
            asyncio.get_running_loop().call_later(_PAUSE_S, self._write, pieces[_BEFORE_PAUSE:])
        return True

    def _write(self, pieces: list[bytes]) -> None:
        assert self._transport is not None
        if not self._transport.is_closing():
            self._transport.writelines(pieces)


def answer(head: bytes, body: bytes) -> list[bytes]:
    """The pieces of a whole HTTP answer, each meant as a write of its own."""
    if head.startswith(b"GET /v1/models"):
        return [_plain(b"200 OK", _MODELS)]
    if not head.startswith(b"POST /v1/chat/completions"):
        return [_plain(b"404 Not Found", b'{"error": {"message": "no such page"}}')]
    found = recalled(body)
    if found is None:
        return [_plain(b"400 Bad Request", b'{"error": {"message": "nothing is asked for"}}')]
    top = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
    return [top, *(b"%x\r\n%s\r\n" % (len(event), event) for event in events(*found, len(body) // 4)), b"0\r\n\r\n"]


def recalled(body: bytes) -> tuple[str, str] | None:
    """The call that stands in the prompt behind the key that is asked for last: name, and arguments as text."""
    begin = body.rfind(b"((")
    end = body.find(b"))", begin)
    if begin < 0 or end < 0:
        return None
    fact = re.search(rb"\[\[%s\]\] ((?:[^\\]|\\[^n])*)\\n" % re.escape(body[begin + 2 : end]), body)
    if fact is None:
        return None
    name, _, arguments = json.loads(b'"%s"' % fact[1]).partition(" ")
    return name, arguments


def events(name: str, arguments: str, prompt_tokens: int) -> list[bytes]:
    half = len(arguments) // 2
    call = {"index": 0, "id": "call_1", "type": "function", "function": {"name": name, "arguments": ""}}
    deltas: list[dict[str, object]] = [{"role": "assistant", "content": ""}, {"tool_calls": [call]}]
    for piece in (arguments[:half], arguments[half:]):
        deltas.append({"tool_calls": [{"index": 0, "function": {"arguments": piece}}]})
    top = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1_700_000_000, "model": MODEL}
    chunks: list[dict[str, object]] = [
        {**top, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas
    ]
    chunks.append({**top, "choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]})
    usage = {
        "prompt_tokens": prompt_tokens,
        "completion_tokens": 1 + len(arguments) // 4,
        "prompt_tokens_details": {"cached_tokens": prompt_tokens // 2},
    }
    chunks.append({**top, "choices": [], "usage": usage})
    lines = [b"data: %s\n\n" % json.dumps(chunk, ensure_ascii=False).encode() for chunk in chunks]
    return [*lines, b"data: [DONE]\n\n"]


def _plain(status: bytes, body: bytes) -> bytes:
    top = b"HTTP/1.1 %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
    return top % (status, len(body)) + body


async def serve() -> None:
    loop = asyncio.get_running_loop()
    stopped = asyncio.Event()
    loop.add_signal_handler(signal.SIGTERM, stopped.set)
    server = await loop.create_server(SoundServer, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await stopped.wait()
    server.close()


if __name__ == "__main__":
    import uvloop

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(serve())
