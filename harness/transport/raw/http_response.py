"""One HTTP/1.1 response out of bytes, however the bytes were cut.

Owns: status, headers, and where the body begins and ends. Does not own: sockets, or what the body means. Pure.
Floor 5. Source: RFC 9112 sections 4, 6 and 7; facts/real-servers.md section 1 (lengths that are not what they say).

A general parser in Python (h11) costs about 80 us a chunk of a stream (facts/loadgen.md); this one finds a chunk's
line and takes a slice.
"""

from __future__ import annotations

import zlib
from enum import Enum, auto
from typing import Final

HEAD_BYTES_MAX: Final = 64 * 1024
"""Also of all interim answers and all trailers together."""
INFLATED_BYTES_MAX: Final = 16 * 1024 * 1024
"""What one read may unpack to: a thousand times as much as came would take the client's memory with it."""
_LINE_BYTES_MAX: Final = 4 * 1024
_LENGTH_DIGITS_MAX: Final = 18
_HEX_DIGITS: Final = frozenset(b"0123456789abcdefABCDEF")


class MalformedResponse(Exception):
    """The bytes are no HTTP/1.1 response. The sentence says what is wrong with them."""


class _State(Enum):
    HEAD = auto()
    LENGTH = auto()
    CHUNK_LINE = auto()
    CHUNK = auto()
    CHUNK_END = auto()
    TRAILERS = auto()
    UNTIL_CLOSE = auto()
    COMPLETE = auto()


class ResponseParser:
    """Feed it what arrives; every split of the same bytes gives the same body. One parser for one response.

    status: None until the head is there. headers: by lower-case name, the last of a name wins.
    has_excess: bytes came behind the end, so the connection is of no further use.
    """

    def __init__(self) -> None:
        self.status: int | None = None
        self.headers: dict[str, str] = {}
        self.is_reusable = False
        self.has_excess = False
        self._state = _State.HEAD
        self._tail = b""
        self._left_bytes = 0
        self._aside_bytes = 0
        self._inflate: zlib._Decompress | None = None

    def __repr__(self) -> str:
        return f"ResponseParser(status={self.status}, {self._state.name}, tail={len(self._tail)})"

    @property
    def is_complete(self) -> bool:
        return self._state is _State.COMPLETE

    @property
    def has_head(self) -> bool:
        return self._state is not _State.HEAD

    @property
    def content_type(self) -> str:
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()

    def feed(self, data: bytes) -> bytes:
        """The part of the body that these bytes bring. Raises: MalformedResponse."""
        if self._state is _State.CHUNK_LINE and not self._tail and self._inflate is None:
            # One chunk a read is what a stream nearly always is.
            line = data.find(b"\r\n")
            size_bytes = len(data) - line - 4
            if 0 < line < 5 and size_bytes > 0 and data[:line] == b"%x" % size_bytes and data.endswith(b"\r\n"):
                return data[line + 2 : -2]
        if self._tail:
            data, self._tail = self._tail + data, b""
        at, body = 0, []
        while at < len(data) and self._state is not _State.COMPLETE:
            match self._state:
                case _State.CHUNK_LINE:
                    at = self._chunk_line(data, at)
                case _State.CHUNK | _State.LENGTH:
                    piece = data[at : at + self._left_bytes]
                    body.append(piece)
                    at += len(piece)
                    self._left_bytes -= len(piece)
                    if not self._left_bytes:
                        self._state = _State.CHUNK_END if self._state is _State.CHUNK else _State.COMPLETE
                case _State.CHUNK_END:
                    at = self._chunk_end(data, at)
                case _State.UNTIL_CLOSE:
                    body.append(data[at:])
                    at = len(data)
                case _State.TRAILERS:
                    at = self._trailer(data, at)
                case _State.HEAD:
                    at = self._head(data, at)
        if at < len(data) and self._state is _State.COMPLETE:
            self.has_excess = True
        whole = body[0] if len(body) == 1 else b"".join(body)
        return self._plain(whole) if self._inflate is not None else whole

    def close(self) -> bool:
        """The connection has ended; whether that was the response's end too."""
        if self._state is _State.UNTIL_CLOSE:
            self._state = _State.COMPLETE
        return self.is_complete

    def missing(self) -> str:
        """What a response that ends here lacks, in words."""
        if self._state is _State.LENGTH:
            return f"the body ended {self._left_bytes} bytes before its announced length"
        if self._state is _State.HEAD:
            return "the connection ended before the head of an answer"
        return "the connection ended in the middle of the body"

    def _head(self, data: bytes, at: int) -> int:
        end = data.find(b"\r\n\r\n", at)
        if end < 0:
            if len(data) - at > HEAD_BYTES_MAX:
                raise MalformedResponse(f"the head of the answer is longer than {HEAD_BYTES_MAX} bytes")
            if not b"HTTP/".startswith(data[at : at + 5]):
                raise MalformedResponse(f"the answer does not begin as HTTP does: {data[at : at + 40]!r}")
            self._tail = data[at:]
            return len(data)
        lines = data[at:end].decode("latin-1").split("\r\n")
        status = _status(lines[0])
        if 100 <= status < 200:
            # An interim answer (100 Continue, 103 Early Hints); the real one follows.
            return self._aside(end + 4, at, "interim answers")
        headers = dict(map(_header, lines[1:]))
        self.status, self.headers = status, headers
        self._begin_body(lines[0])
        return end + 4

    def _begin_body(self, status_line: str) -> None:
        headers = self.headers
        connection = headers.get("connection", "").lower()
        self.is_reusable = "close" not in connection and (
            status_line.startswith("HTTP/1.1") or "keep-alive" in connection
        )
        encoding = headers.get("content-encoding", "identity").strip().lower()
        if encoding in ("gzip", "x-gzip", "deflate"):
            # Nobody asked for it, yet some proxies do it all the same. 47: gzip or zlib, whichever it is.
            self._inflate = zlib.decompressobj(47)
        elif encoding not in ("identity", ""):
            raise MalformedResponse(f"the answer is encoded as '{encoding}', which was not asked for")
        if "chunked" in headers.get("transfer-encoding", "").lower():
            self._state = _State.CHUNK_LINE
        elif self.status in (204, 304):
            self._state = _State.COMPLETE
        elif "content-length" in headers:
            text = headers["content-length"]
            if not (text.isascii() and text.isdigit() and len(text) <= _LENGTH_DIGITS_MAX):
                raise MalformedResponse(f"'{text[:40]}' is no length of a body")
            self._left_bytes = int(text)
            self._state = _State.LENGTH if self._left_bytes else _State.COMPLETE
        else:
            self.is_reusable = False
            self._state = _State.UNTIL_CLOSE

    def _chunk_line(self, data: bytes, at: int) -> int:
        end = data.find(b"\n", at)
        if end < 0:
            return self._keep(data, at, "a chunk's line")
        digits = data[at:end].partition(b";")[0].strip()
        if not digits or not _HEX_DIGITS.issuperset(digits) or len(digits) > 15:
            raise MalformedResponse(f"{digits[:40]!r} is no size of a chunk")
        self._left_bytes = int(digits, 16)
        self._state = _State.CHUNK if self._left_bytes else _State.TRAILERS
        return end + 1

    def _chunk_end(self, data: bytes, at: int) -> int:
        if data[at : at + 2] == b"\r\n":
            end = at + 2
        elif data[at : at + 1] == b"\n":
            end = at + 1
        elif data[at:] == b"\r":
            return self._keep(data, at, "a chunk's end")
        else:
            raise MalformedResponse(f"a chunk is longer than it says: {data[at : at + 20]!r} follows it")
        self._state = _State.CHUNK_LINE
        return end

    def _trailer(self, data: bytes, at: int) -> int:
        end = data.find(b"\n", at)
        if end < 0:
            return self._keep(data, at, "a trailer")
        if not data[at:end].strip():
            self._state = _State.COMPLETE
        return self._aside(end + 1, at, "trailers")

    def _aside(self, end: int, begin: int, what: str) -> int:
        """What no limit on the body counts may not go on for ever either."""
        self._aside_bytes += end - begin
        if self._aside_bytes > HEAD_BYTES_MAX:
            raise MalformedResponse(f"more than {HEAD_BYTES_MAX} bytes of {what}")
        return end

    def _keep(self, data: bytes, at: int, what: str) -> int:
        if len(data) - at > _LINE_BYTES_MAX:
            raise MalformedResponse(f"{what} is longer than {_LINE_BYTES_MAX} bytes")
        self._tail = data[at:]
        return len(data)

    def _plain(self, body: bytes) -> bytes:
        assert self._inflate is not None
        try:
            plain = self._inflate.decompress(body, INFLATED_BYTES_MAX)
        except zlib.error as problem:
            raise MalformedResponse(f"the compressed answer cannot be unpacked: {problem}") from None
        if self._inflate.unconsumed_tail:
            raise MalformedResponse(f"the compressed answer unpacks to more than {INFLATED_BYTES_MAX} bytes a read")
        if self.is_complete and not self._inflate.eof:
            raise MalformedResponse("the compressed answer ends too early")
        return plain


def _status(line: str) -> int:
    version, _, rest = line.partition(" ")
    code = rest[:3]
    if not version.startswith("HTTP/1.") or not (code.isascii() and code.isdigit()) or len(code) != 3:
        raise MalformedResponse(f"the answer does not begin as HTTP does: {line[:40]!r}")
    return int(code)


def _header(line: str) -> tuple[str, str]:
    name, _, value = line.partition(":")
    return name.strip().lower(), value.strip()
