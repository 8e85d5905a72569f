"""What a run wants to know of each reply besides its record: gaps between tokens, quirks, statuses, and no secrets.

Owns: the counting. Does not own: sending, or what the figures mean (`latency.py`). Floor 5. Source: ours.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable
from itertools import pairwise

from harness.live.credentials import Scrubber
from harness.transport.contract import ChatRequest, Reply, Transport


class ObservedTransport:
    """quirks: replies by quirk. in_flight_max: requests at once."""

    def __init__(self, inner: Transport, scrubber: Scrubber) -> None:
        self._gaps_ns: dict[str, array[int]] = {}
        self.quirks: Counter[str] = Counter()
        self.in_flight_max = 0
        self._in_flight = 0
        self._inner = inner
        self._scrubber = scrubber

    def __repr__(self) -> str:
        return f"ObservedTransport({self._inner!r}, {self._in_flight} in flight)"

    async def close(self) -> None:
        await self._inner.close()

    async def chat(self, request: ChatRequest) -> Reply:
        self._in_flight += 1
        self.in_flight_max = max(self.in_flight_max, self._in_flight)
        try:
            reply = self._scrubber.reply(await self._inner.chat(request))
        finally:
            self._in_flight -= 1
        self._gaps_ns[request.request_id] = array("q", (late - soon for soon, late in pairwise(reply.text_ns)))
        self.quirks.update(reply.quirks)
        return reply

    def gaps_ns(self, request_ids: Iterable[str]) -> array[int]:
        """The times between the pieces of text of these replies."""
        whole = array("q")
        for request_id in request_ids:
            whole.extend(self._gaps_ns.get(request_id, ()))
        return whole
