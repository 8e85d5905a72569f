"""Between an engine, which produces tokens inside an advance of time, and the handler that writes them out.

Owns: the order of what came, and how much is gathered before the handler is woken. Does not own: text or frames.
Floor 5. Source: ours.

On virtual time nobody watches a reply grow, and its stamps are inside the chunks. So a handler is woken for many
tokens at once and a reply costs three or four writes instead of one for each token.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from harness.pair.engines import FinishReason, Scores, Usage


@dataclass(frozen=True, slots=True)
class Token:
    text: bytes
    t_ns: int
    scores: Scores | None = None


@dataclass(frozen=True, slots=True)
class Finish:
    reason: FinishReason
    usage: Usage
    t_ns: int
    message: str


class TokenQueue:
    """The servers' `TokenSink`. on_finish_seen: called in the instant the engine finishes, before the handler runs."""

    def __init__(self, *, tokens_per_wake: int, on_finish_seen: Callable[[Finish], None]) -> None:
        self._tokens_per_wake = tokens_per_wake
        self._on_finish_seen = on_finish_seen
        self._items: list[Token | Finish] = []
        self._ready = asyncio.Event()
        self._is_detached = False
        self.finish: Finish | None = None

    def __repr__(self) -> str:
        return f"TokenQueue(waiting={len(self._items)}, finish={self.finish}, is_detached={self._is_detached})"

    def on_text(self, text: bytes, t_ns: int, scores: Scores | None = None) -> None:
        assert self.finish is None, f"text after the finish: {self.finish}"
        self._items.append(Token(text, t_ns, scores))
        if len(self._items) >= self._tokens_per_wake:
            self._ready.set()

    def on_finish(self, reason: FinishReason, usage: Usage, t_ns: int, message: str = "") -> None:
        assert self.finish is None, f"finished twice: {self.finish}, then {reason}"
        self.finish = Finish(reason, usage, t_ns, message)
        self._items.append(self.finish)
        if not self._is_detached:
            self._on_finish_seen(self.finish)
        self._ready.set()

    def detach(self) -> None:
        """The handler has gone; what still comes is dropped without a trace."""
        self._is_detached = True

    async def take(self) -> list[Token | Finish]:
        """Everything that has come since the last call; waits for enough of it, or for the finish."""
        await self._ready.wait()
        self._ready.clear()
        items, self._items = self._items, []
        return items
