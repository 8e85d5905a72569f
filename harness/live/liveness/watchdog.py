"""Since when has nothing happened, though requests are open?

Owns: the rule. Does not own: time, the requests, what follows from it (`watching.py`). Pure. Floor 5. Source: ours.

A sign of life is a byte of any answer, or an answer's end that was not our own giving up. Keep-alive comments are none:
servers send them while the engine behind hangs. Silence counts while something is waited for: a request that was given
up and one sent after it do not begin it anew, and the pause between them does not count.
"""

from __future__ import annotations


class Watchdog:
    """All times by one clock, in nanoseconds. has_news: set by the stream's own callback, which must be quick."""

    def __init__(self) -> None:
        self.has_news = False
        self.open: dict[str, int] = {}
        self._since_ns: int | None = None
        self._before_ns = 0

    def __repr__(self) -> str:
        return f"Watchdog({len(self.open)} open, since {self._since_ns})"

    def bytes_came(self, piece: bytes) -> None:
        if piece[:1] == b":" and b"data:" not in piece:
            return
        self.has_news = True

    def sent(self, name: str, now_ns: int) -> None:
        self.open[name] = now_ns
        if self._since_ns is None:
            self._since_ns = now_ns - self._before_ns

    def ended(self, name: str, now_ns: int, *, by_silence: bool) -> None:
        quiet_ns = self.quiet_ns(now_ns)
        self.open.pop(name, None)
        if not by_silence:
            self._alive(now_ns)
        elif not self.open:
            self._since_ns, self._before_ns = None, quiet_ns

    def quiet_ns(self, now_ns: int) -> int:
        """For how long nothing has come that was waited for; a pause in the waiting does not count."""
        if self.has_news:
            self.has_news = False
            self._alive(now_ns)
        return self._before_ns if self._since_ns is None else now_ns - self._since_ns

    def _alive(self, now_ns: int) -> None:
        self._before_ns = 0
        self._since_ns = now_ns if self.open else None
