"""A client that gets along with a server which refuses fields it does not know.

Owns: which fields may be left out, how a refusal of one is recognised, and that all clients made by one command know of
it. Does not own: the body (`contract.py`), sending. Floor 5. Source: Dynamo's frontend answers 400 "Unsupported
parameter(s)" to `safety_identifier`, which sglang-router needs; strict servers of other kinds name the field in quotes
as well.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Final, Protocol

from harness.transport.contract import ChatRequest, Reply, Transport, TransportOptions
from harness.transport.errors import EngineProtocolError

OPTIONAL_FIELDS: Final = ("safety_identifier", "user", "stream_options", "cache_salt")
"""None of them changes what is answered; without `stream_options` a stream tells no token counts, and without
`cache_salt` a prompt may find pages of another."""
_REFUSALS: Final = (400, 422)


class _Make(Protocol):
    def __call__(self, options: TransportOptions, /, *, now_ns: Callable[[], int]) -> Transport: ...


class Accommodating:
    """Makes clients that leave out what the server has refused once. omitted: those fields."""

    def __init__(self, make: _Make) -> None:
        self.omitted: set[str] = set()
        self._make = make

    def __repr__(self) -> str:
        return f"Accommodating({self._make!r}, without {sorted(self.omitted)})"

    def __call__(self, options: TransportOptions, /, *, now_ns: Callable[[], int]) -> Transport:
        return _AccommodatingTransport(self._make(options, now_ns=now_ns), self.omitted)

    def notes(self) -> Iterator[str]:
        """What was found out, in words."""
        for name in sorted(self.omitted):
            yield f"the server refuses the field '{name}', so no request has it"


class _AccommodatingTransport:
    def __init__(self, inner: Transport, omitted: set[str]) -> None:
        self._inner = inner
        self._omitted = omitted

    def __repr__(self) -> str:
        return f"{self._inner!r} without {sorted(self._omitted)}"

    async def close(self) -> None:
        await self._inner.close()

    async def chat(self, request: ChatRequest) -> Reply:
        """Sent once more for each field that the server turns out to refuse; the reply says what was left out."""
        wanted = request.fields().keys()
        while True:
            sent = replace(request, omitted=request.omitted | self._omitted)
            reply = await self._inner.chat(sent)
            refused = {name for name in OPTIONAL_FIELDS if name in sent.fields() and _is_refused(name, reply)}
            if not refused:
                omitted = frozenset(wanted & sent.omitted)
                return replace(reply, omitted=omitted) if omitted else reply
            self._omitted |= refused


def _is_refused(name: str, reply: Reply) -> bool:
    error = reply.error
    if not isinstance(error, EngineProtocolError) or error.status not in _REFUSALS:
        return False
    # In quotes of some kind: `user` is also a word.
    return re.search(rf"[`'\"]{name}[`'\"]", error.detail) is not None
