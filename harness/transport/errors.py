"""What can go wrong between a client and an engine, and the one place where a library's errors are translated.

Owns: the three families and the translation. Does not own: what a turn is worth after one (the oracles decide).
Floor 5. Source: facts/style.md 2.4 (httpcore: foreign exceptions are mapped once) and 3.8; facts/formats.md.

They are values on a `Reply` more often than they are raised: what arrived before an error is kept beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Final, Literal

from kernels.errors import KVRaceError
from results.oracles.hang import SILENCE

ProtocolFault = Literal[
    "http_status", "error_in_stream", "cut", "aborted", "not_json", "not_http", "oversized", "empty"
]


DETAIL_MAX: Final = 64 * 1024
"""Of what a server says about its error, so much is held until secrets have been taken out of it."""
_SHOWN_MAX: Final = 500


class EngineError(KVRaceError):
    """The server misbehaves. The turn is lost, the run goes on."""


class EngineTimeout(EngineError):
    """No answer in time. Whether the server did the work is not known. phase: `connect` or `read`."""

    def __init__(self, url: str, *, phase: str, limit_s: float | None = None) -> None:
        self.url = url
        self.phase = phase
        self.limit_s = limit_s
        within = "" if limit_s is None else f" within {limit_s:g} s"
        what = "no connection" if phase == "connect" else SILENCE
        super().__init__(f"{url}: {what}{within}")


class EngineUnreachable(EngineError):
    """No connection could be made, or it broke before an answer began."""

    def __init__(self, url: str, *, reason: str) -> None:
        self.url = url
        self.reason = reason
        super().__init__(f"{url} cannot be reached: {reason}")


class EngineProtocolError(EngineError):
    """The server answered, and not with a whole reply. Never corruption: the text did not come to its end.

    status: the HTTP status, where there was one. detail: the server's own words, whole up to `DETAIL_MAX`: who takes
    secrets out needs all of one, so only the sentence is short.
    retry_after_s: how long it asks its clients to stay away, where it does.
    """

    def __init__(
        self, fault: ProtocolFault, *, status: int | None, detail: str = "", retry_after_s: float | None = None
    ) -> None:
        self.fault = fault
        self.status = status
        self.retry_after_s = retry_after_s
        self.detail = detail[:DETAIL_MAX]
        sentence = {
            "http_status": f"the server answered {status}",
            "error_in_stream": f"the server put an error into its answer of status {status}",
            "cut": "the answer was cut off before its end",
            "aborted": "the server aborted the answer",
            "not_json": "the answer is not JSON",
            "not_http": "the answer is not HTTP",
            "oversized": "the answer is too large",
            "empty": "the answer has no body",
        }[fault]
        super().__init__(f"{sentence}: {self.detail[:_SHOWN_MAX]}" if self.detail else sentence)


ErrorMap = Mapping[type[BaseException], Callable[[BaseException], EngineError]]


@contextmanager
def translated(errors: ErrorMap) -> Iterator[None]:
    """Raise a library's exception as one of ours; the first entry that it is an instance of decides."""
    try:
        yield
    except tuple(errors) as problem:
        for kind, translation in errors.items():
            if isinstance(problem, kind):
                raise translation(problem) from problem
        raise
