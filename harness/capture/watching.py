"""One exchange as it passes: what came when, kept as bytes and read only when it is over.

Owns: the stamps and the bytes, and which paths are recorded. Does not own: passing them on (`harness/proxy`), secrets,
the disk. While a reply streams, each piece costs one entry in a list; all reading waits until the client has
everything. Floor 5. Source: ours.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from typing import Final

from harness.capture.record import CapturedReply
from harness.load.clock import yield_to_others
from harness.proxy.contract import Farewell, PassingRequest
from harness.transport.reply import ANSWER_BYTES_MAX, ReplyBuilder

_RECORDED: Final = ("/chat/completions", "/v1/completions", "/v1/messages")
_GZIP: Final = b"\x1f\x8b"
_PIECES_AT_A_TIME: Final = 32
"""Read without a pause; the streams that are still open must not wait for one that has ended."""
UNREAD: Final = "the reply is compressed, and could not be read"


class ExchangeWatch:
    """The proxy's watcher of one exchange. on_ended: gets it once, when no more comes."""

    def __init__(
        self, request: PassingRequest, now_ns: Callable[[], int], on_ended: Callable[[ExchangeWatch], None]
    ) -> None:
        self.path = request.path
        self.body = request.body
        self.status = 0
        self.arrived_ns = now_ns()
        self.ended_ns: int | None = None
        self.fault: str | None = None
        self._now_ns = now_ns
        self._on_ended = on_ended
        self._kind = ""
        self._pieces: list[tuple[int, bytes]] = []
        self._bytes = 0

    def __repr__(self) -> str:
        return f"ExchangeWatch({self.path}, {self._bytes} bytes, {self.fault})"

    def answered(self, status: int, content_type: str) -> None:
        self.status, self._kind = status, content_type

    def piece(self, data: bytes) -> Sequence[bytes]:
        self._bytes += len(data)
        if self._bytes <= ANSWER_BYTES_MAX:
            self._pieces.append((self._now_ns(), data))
        return (data,)

    def ended(self, fault: str | None) -> Farewell:
        self.ended_ns, self.fault = self._now_ns(), fault
        self._on_ended(self)
        return Farewell()

    async def reply(self) -> tuple[CapturedReply, int | None, str | None]:
        """What the bytes said, when the first text came, and why the reply is not whole where it is not."""
        assert self.ended_ns is not None, "a reply is read when it is over"
        builder = ReplyBuilder(status=self.status or None, keep_raw=False)
        try:
            pieces = _plain(self._pieces)
        except zlib.error:
            return CapturedReply(), None, self.fault or UNREAD
        whole = b"".join(data for _, data in pieces)
        if self.status and not 200 <= self.status < 300:
            builder.refused(whole)
        elif self._kind == "text/event-stream" or whole.lstrip().startswith((b"data:", b"event:", b":")):
            for number, (now_ns, data) in enumerate(pieces, start=1):
                builder.feed(data, now_ns=now_ns)
                if number % _PIECES_AT_A_TIME == 0:
                    await yield_to_others()
            builder.end(now_ns=self.ended_ns)
        elif self.status:
            builder.body(whole, now_ns=self.ended_ns)
        reply = builder.reply(end_ns=self.ended_ns)
        fault = self.fault or (None if reply.error is None else str(reply.error))
        told = CapturedReply(reply.content, reply.reasoning, reply.tool_calls, reply.finish_reason)
        return told, reply.arrived.first_token_ns, fault


def is_recorded(request: PassingRequest) -> bool:
    """Chat completions, completions, and Anthropic's messages."""
    return request.method == "POST" and request.path.rstrip("/").endswith(_RECORDED)


def _plain(pieces: list[tuple[int, bytes]]) -> list[tuple[int, bytes]]:
    """Some servers compress although they were asked not to. Raises: zlib.error."""
    if not pieces or not pieces[0][1].startswith(_GZIP):
        return pieces
    reader = zlib.decompressobj(wbits=31)
    return [(now_ns, reader.decompress(data, ANSWER_BYTES_MAX)) for now_ns, data in pieces]
