"""One reply put together from whatever a server sends: chunks of a stream, or one body.

Owns: what each field of an answer means, which deviations are harmless, and when a reply is not whole. Does not
own: bytes on the wire (`sse.py` cuts them into events), the assembly of calls (`calls.py`), or any judgement of the
text. Pure: no I/O, and no clock: the caller says when bytes arrived.
Floor 5. Source: facts/formats.md section 3; each rule names its quirk.
"""

from __future__ import annotations

from typing import Any, Final

from harness.transport.anthropic import AnthropicEvents, is_message, whole_message
from harness.transport.calls import CallMerger
from harness.transport.contract import Reply, ReplyUsage, Stamps
from harness.transport.errors import DETAIL_MAX, EngineError, EngineProtocolError, EngineTimeout
from harness.transport.payload import error_message, joined_text, payload, usage_of
from harness.transport.plain import plain_text
from harness.transport.sse import EVENT_BYTES_MAX, SseDecoder, SseEvent

ANSWER_BYTES_MAX: Final = 64 * 1024 * 1024
"""A stream that never ends must not take the client's memory with it."""

_ABORTED_REASONS: Final = frozenset({"abort", "aborted", "error"})


class ReplyBuilder:
    """Feed it the answer as it arrives, then take the `reply`. One builder for one answer."""

    def __init__(self, *, status: int | None, keep_raw: bool = True) -> None:
        self._status = status
        self._decoder = SseDecoder()
        self._anthropic = AnthropicEvents()
        self._calls = CallMerger()
        self._raw: list[bytes] | None = [] if keep_raw else None
        self._content: list[str] = []
        self._reasoning: list[str] = []
        self._finish_reason: str | None = None
        self._usage: ReplyUsage | None = None
        self._error: EngineError | None = None
        self._is_done = False
        self._is_oversized = False
        self._quirks: dict[str, None] = {}
        self._raw_bytes = 0
        self._text_ns: list[int] = []
        self._first_stamp_ns: int | None = None
        self._last_stamp_ns: int | None = None
        self._served_as: str | None = None

    def __repr__(self) -> str:
        return f"ReplyBuilder(status={self._status}, finish={self._finish_reason}, error={self._error})"

    @property
    def is_oversized(self) -> bool:
        """Nothing that is fed any more changes the reply: who reads on would read a stream that may never end."""
        return self._is_oversized

    @property
    def text_count(self) -> int:
        """Pieces of text so far."""
        return len(self._text_ns)

    def feed(self, chunk: bytes, *, now_ns: int) -> None:
        """Bytes of an event stream."""
        if self._is_oversized:
            return
        self._raw_bytes += len(chunk)
        if self._raw is not None:
            self._raw.append(chunk)
        for event in self._decoder.feed(chunk):
            self._event(event, now_ns)
        if self._decoder.is_oversized:
            self._give_up(f"one event has more than {EVENT_BYTES_MAX} bytes")
        elif self._raw_bytes > ANSWER_BYTES_MAX:
            self._give_up(f"more than {ANSWER_BYTES_MAX} bytes")

    def end(self, *, now_ns: int, broken_by: EngineError | None = None, sees_done: bool = True) -> None:
        """The event stream is over; broken_by: what ended it, when that was not the server's own end.

        sees_done: false for a client that never shows the end mark, so that its absence means nothing.
        """
        for event in () if self._is_oversized else self._decoder.close():
            self._event(event, now_ns)
        self._errors_without_data(now_ns)
        is_whole = self._is_done or self._finish_reason is not None
        if is_whole:
            if not self._is_done and sees_done:
                self.note("no_done")
            if self._finish_reason is None:
                self.note("no_finish_reason")
            if broken_by is not None:
                self.note("broken_after_end")
        elif isinstance(broken_by, EngineTimeout):
            self._fail(broken_by)
        else:
            self._fail(
                EngineProtocolError("cut", status=self._status, detail="" if broken_by is None else str(broken_by))
            )

    def body(self, raw: bytes, *, now_ns: int) -> None:
        """A whole answer, not streamed; or more of one than is read."""
        if self._raw is not None:
            self._raw.append(raw)
        self._is_done = True
        if len(raw) > ANSWER_BYTES_MAX:
            self._give_up(f"more than {ANSWER_BYTES_MAX} bytes")
            return
        if not raw.strip():
            self._fail(EngineProtocolError("empty", status=self._status))
            return
        fields, quirks = payload(raw)
        self.note(*quirks)
        if isinstance(fields, dict) and isinstance(fields.get("data"), dict) and "choices" not in fields:
            # Some gateways wrap the answer (Q33).
            self.note("wrapped")
            fields = fields["data"]
        if isinstance(fields, dict) and is_message(fields):
            fields = whole_message(fields)
        if isinstance(fields, dict):
            self._fields(fields, now_ns, is_whole=True)
        else:
            self._fail_as_no_json(raw)

    def refused(self, raw: bytes, *, retry_after_s: float | None = None) -> None:
        """A whole answer whose status says that it is none."""
        if self._raw is not None:
            self._raw.append(raw)
        fields, _ = payload(raw)
        detail = error_message(fields, raw)
        self._fail(EngineProtocolError("http_status", status=self._status, detail=detail, retry_after_s=retry_after_s))

    def fail(self, error: EngineError) -> None:
        """The answer is lost for a reason outside its bytes."""
        self._fail(error)

    def reply(self, *, end_ns: int | None) -> Reply:
        calls = self._calls.calls()
        if calls and self._finish_reason == "stop":
            # Calls were made, whatever the reason says (Q12).
            self.note("stop_with_calls")
        return Reply(
            status=self._status,
            content=joined_text(self._content),
            reasoning=joined_text(self._reasoning),
            tool_calls=calls,
            finish_reason=self._finish_reason,
            usage=self._usage,
            error=self._error,
            arrived=Stamps(self._text_ns[0] if self._text_ns else None, end_ns),
            stamped=Stamps(self._first_stamp_ns, self._last_stamp_ns),
            served_as=self._served_as,
            quirks=tuple(self._quirks),
            raw=None if self._raw is None else b"".join(self._raw).decode(errors="replace"),
            text_ns=tuple(self._text_ns),
        )

    def _event(self, event: SseEvent, now_ns: int) -> None:
        data = event.data.strip()
        # Empty data are no event (Q21), nor is a comment that a proxy has wrapped (Q22).
        if not data or data.startswith(b":"):
            return
        if data == b"[DONE]":
            self._is_done = True
            return
        plain = plain_text(data) if event.kind == "message" else None
        if plain is not None:
            # What nearly every event is; all others are read below, by the same rules and more.
            self._stamped(plain.kvrace)
            self._content.append(plain.text)
            self._text_ns.append(now_ns)
            return
        fields, quirks = payload(data)
        if event.kind == "error" and not (isinstance(fields, dict) and "error" in fields):
            fields = {"error": fields if fields is not None else data.decode(errors="replace")}
        if isinstance(fields, dict):
            self.note(*quirks)
            if self._anthropic.knows(fields):
                fields = self._anthropic.chunk(fields)
                self._is_done |= self._anthropic.is_over
            self._fields(fields, now_ns, is_whole=False)
        elif fields is None and event.is_complete:
            self._fail_as_no_json(data)
        # Anything else is `""` sent as a ping (Q22), or the stump of a stream that was cut.

    def _errors_without_data(self, now_ns: int) -> None:
        """A plain JSON error in the middle of an event stream (Q30)."""
        if self._decoder.stray:
            fields, _ = payload(self._decoder.stray)
            if isinstance(fields, dict):
                self.note("no_data_prefix")
                self._fields(fields, now_ns, is_whole=True)

    def _fields(self, fields: dict[str, Any], now_ns: int, *, is_whole: bool) -> None:
        if fields.get("error") or fields.get("error_message"):
            # Servers that are in the middle of a 200 have no other way (Q27, Q28).
            detail = error_message(fields, b"")
            self._fail(EngineProtocolError("error_in_stream", status=self._status, detail=detail))
        self._stamped(fields.get("kvrace"))
        usage = usage_of(fields.get("usage"))
        if usage is not None:
            # The last one counts, whether it is alone or on every chunk (Q15, Q16).
            self._usage = usage
        choices = fields.get("choices")
        for choice in choices if isinstance(choices, list) else ():
            if not isinstance(choice, dict):
                continue
            if choice.get("index") not in (0, None):
                self.note("several_choices")
                continue
            if self._choice(choice, is_whole=is_whole):
                self._text_ns.append(now_ns)

    def _choice(self, choice: dict[str, Any], *, is_whole: bool) -> bool:
        """Whether it brought any text."""
        reason = choice.get("finish_reason")
        if isinstance(reason, str) and reason:
            self._finish_reason = reason
            if reason in _ABORTED_REASONS:
                self._fail(EngineProtocolError("aborted", status=self._status, detail=f"finish_reason '{reason}'"))
        delta = choice.get("message") if is_whole else choice.get("delta") or choice.get("message")
        if not isinstance(delta, dict):
            # Completions of a plain prompt have no message.
            delta = {"content": choice.get("text")}
        content = _content(delta.get("content"))
        # One of two names, depending on the server (Q17); where both are given they are the same text.
        reasoning = _content(delta.get("reasoning_content")) or _content(delta.get("reasoning"))
        calls = delta.get("tool_calls")
        if content:
            self._content.append(content)
        if reasoning:
            self._reasoning.append(reasoning)
        if calls and is_whole:
            self._calls.add_whole(calls)
        elif calls:
            self._calls.add(calls)
        return bool(content or reasoning or calls)

    def _stamped(self, extension: object) -> None:
        stamp_ns = extension.get("t_ns") if isinstance(extension, dict) else None
        if isinstance(extension, dict) and isinstance(stamp_ns, int):
            # The first chunk carries the time of the first token, although a tool-call parser may still keep the
            # token's text back.
            self._first_stamp_ns = stamp_ns if self._first_stamp_ns is None else self._first_stamp_ns
            self._last_stamp_ns = stamp_ns
            self._served_as = extension.get("request_id", self._served_as)

    def _give_up(self, detail: str) -> None:
        self._is_oversized = True
        self._fail(EngineProtocolError("oversized", status=self._status, detail=detail))

    def _fail_as_no_json(self, raw: bytes) -> None:
        detail = raw[:DETAIL_MAX].decode(errors="replace")
        self._fail(EngineProtocolError("not_json", status=self._status, detail=detail))

    def _fail(self, error: EngineError) -> None:
        """The first error is the cause; later ones follow from it."""
        if self._error is None:
            self._error = error

    def note(self, *quirks: str) -> None:
        self._quirks.update(dict.fromkeys(quirks))


def _content(value: object) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "".join(part["text"] for part in value if isinstance(part, dict) and isinstance(part.get("text"), str))
    return ""
