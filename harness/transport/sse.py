"""Server-sent events out of bytes, however the bytes were cut.

Owns: lines, fields, events, and the deviations from the standard that real servers show. Does not own: what an
event's data mean (`reply.py`). Pure: bytes in, events out, no I/O.
Floor 5. Source: WHATWG HTML "Server-sent events"; deviations by number in facts/formats.md section 3 (Q20 to Q32).

Deviations from the standard, each seen in the wild: a stream that ends without a blank line still yields its last
event (marked incomplete); a line `error: {...}` is an event of type `error` (Q29); lines that are no field at all are
kept in `stray`, where an error without `data:` is found (Q30).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

EVENT_BYTES_MAX: Final = 16 * 1024 * 1024
_STRAY_BYTES_MAX: Final = 64 * 1024
_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"
_IGNORED_FIELDS: Final = frozenset({b"id", b"retry"})


@dataclass(frozen=True, slots=True)
class SseEvent:
    """kind: the `event` field, `message` if none. data: as sent, several lines joined by newlines; still bytes,
    because a character may have been corrupted and the receiver should see that."""

    data: bytes
    kind: str = "message"
    is_complete: bool = True


class SseDecoder:
    """Feed it what arrives; every split of the same bytes gives the same events.

    Lines end with LF, CR or CR LF (Q23). A line or an event of more than `event_bytes_max` ends the decoding:
    `is_oversized` is true from then on, and nothing more is held or given.
    """

    def __init__(self, *, event_bytes_max: int = EVENT_BYTES_MAX) -> None:
        self.is_oversized = False
        self._event_bytes_max = event_bytes_max
        self._tail: list[bytes] = []
        self._tail_bytes = 0
        self._after_cr = False
        self._at_start = True
        self._data: list[bytes] = []
        self._data_bytes = 0
        self._kind = ""
        self._stray: list[bytes] = []
        self._stray_bytes = 0

    def __repr__(self) -> str:
        return f"SseDecoder(bytes: tail={self._tail_bytes}, data={self._data_bytes}, stray={self._stray_bytes})"

    @property
    def stray(self) -> bytes:
        """Lines that were no field of an event stream, joined by newlines, up to 64 KiB of them."""
        return b"\n".join(self._stray)

    def feed(self, chunk: bytes) -> list[SseEvent]:
        if self.is_oversized:
            return []
        if self._is_between_events and _is_one_event(chunk) and len(chunk) <= self._event_bytes_max:
            # What nearly every read of a stream is.
            return [SseEvent(chunk[6:-2])]
        if self._after_cr and chunk:
            self._after_cr = False
            chunk = chunk.removeprefix(b"\n")
        if b"\r" in chunk:
            # A CR ends its line now; whether it was half of a CR LF is known when the next byte comes.
            self._after_cr = chunk.endswith(b"\r")
            chunk = chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        head, newline, rest = chunk.partition(b"\n")
        self._tail.append(head)
        self._tail_bytes += len(head)
        if not newline:
            self._check(self._tail_bytes)
            return []
        lines = [b"".join(self._tail), *rest.split(b"\n")]
        last = lines.pop()
        self._tail, self._tail_bytes = [last], len(last)
        events: list[SseEvent] = []
        for line in lines:
            self._line(line, events)
            if self.is_oversized:
                return events
        self._check(self._tail_bytes)
        return events

    @property
    def _is_between_events(self) -> bool:
        return not (self._tail_bytes or self._data or self._kind or self._after_cr or self._at_start)

    def close(self) -> list[SseEvent]:
        """The stream has ended: what is left, marked incomplete."""
        if self.is_oversized:
            return []
        events: list[SseEvent] = []
        line, self._tail, self._tail_bytes = b"".join(self._tail), [], 0
        if line:
            self._line(line, events)
        if self._data and not self.is_oversized:
            events.append(self._event(is_complete=False))
        return events

    def _line(self, line: bytes, events: list[SseEvent]) -> None:
        if self._at_start:
            self._at_start = False
            line = line.removeprefix(_BYTE_ORDER_MARK)
        self._check(len(line))
        if self.is_oversized:
            return
        if not line:
            # An event without data is none (Q21); it only forgets its type.
            if self._data:
                events.append(self._event(is_complete=True))
            self._kind = ""
            return
        field, colon, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if field == b"data":
            self._data.append(value)
            self._data_bytes += len(value) + 1
            self._check(self._data_bytes)
        elif field == b"event":
            self._kind = value.decode(errors="replace")
        elif field == b"error" and colon:
            events.append(SseEvent(value, kind="error"))
        elif field and field not in _IGNORED_FIELDS:
            self._keep_stray(line)

    def _event(self, *, is_complete: bool) -> SseEvent:
        event = SseEvent(b"\n".join(self._data), self._kind or "message", is_complete)
        self._data, self._data_bytes, self._kind = [], 0, ""
        return event

    def _keep_stray(self, line: bytes) -> None:
        if self._stray_bytes + len(line) <= _STRAY_BYTES_MAX:
            self._stray.append(line)
            self._stray_bytes += len(line) + 1

    def _check(self, size_bytes: int) -> None:
        if size_bytes > self._event_bytes_max:
            self.is_oversized = True
            self._tail, self._data = [], []


def _is_one_event(chunk: bytes) -> bool:
    """Whether it is one whole event of one plain line of data."""
    return chunk.startswith(b"data: ") and chunk.find(b"\n") == len(chunk) - 2 and chunk.endswith(b"\n\n") and (
        b"\r" not in chunk
    )  # fmt: skip
