"""Keep-alive: what servers send so that nobody hangs up while their engine has nothing to say, or hangs itself.

Owns: telling it from an answer, however the bytes were cut, and a limit on silence that it does not extend. Does not
own: timers, what follows from silence. Pure. Floor 5.
Source: facts/formats.md Q20 (comments), and servers that send empty lines before an answer that is not streamed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

_ENDS: Final = frozenset(b"\r\n")
_STARTS: Final = frozenset(b":\r\n")


class KeepAlive:
    """One answer's. Fed with each piece of its body, in order."""

    def __init__(self) -> None:
        # How the line that is not at its end yet begins; `x` stands for all that is no comment.
        self._line = b""

    def __repr__(self) -> str:
        return f"KeepAlive({self._line!r})"

    def is_all(self, piece: bytes) -> bool:
        """Whether the piece has nothing but comments and empty lines."""
        if not piece:
            return True
        if piece[0] not in _STARTS and self._line != b":":
            # What nearly every piece is. A comment behind its end does not matter.
            self._line = b"" if piece[-1] in _ENDS else b"x"
            return False
        text = self._line + piece
        lines = text.splitlines()
        self._line = b"" if text[-1] in _ENDS else b":" if lines[-1].startswith(b":") else b"x"
        return all(not line or line.startswith(b":") for line in lines)


class SilenceLimit:
    """For a client whose library has a limit on bytes of any kind. limit_s: None is none. now_s: the loop's time.

    It is looked at when something comes: where nothing does, the library's own limit holds.
    """

    def __init__(self, limit_s: float | None, now_s: Callable[[], float]) -> None:
        self._limit_s = limit_s
        self._keep_alive = KeepAlive()
        self._now_s = now_s
        self._since_s = now_s()

    def __repr__(self) -> str:
        return f"SilenceLimit({self._limit_s})"

    def came(self, piece: bytes) -> None:
        """Raises: TimeoutError where nothing but keep-alive has come for so long."""
        now_s = self._now_s()
        if not self._keep_alive.is_all(piece):
            self._since_s = now_s
        elif self._limit_s is not None and now_s - self._since_s >= self._limit_s:
            raise TimeoutError
