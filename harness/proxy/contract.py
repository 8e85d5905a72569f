"""What stands between a client and its server sees, and what it may do with it.

Owns: the seam: one watcher for one exchange. Does not own: sockets (`passing.py`), or any watcher
(`harness/capture` records, `harness/planting` damages). Floor 5. Source: ours.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import Protocol


@dataclass(frozen=True, slots=True)
class PassingRequest:
    """A request as it came. path: without the query. headers: by lower-case name, the last of a name wins."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes


class Ending(Enum):
    """How the client's answer ends."""

    WHOLE = auto()
    CUT = auto()
    """The connection is reset: nobody can take it for an end."""
    SILENT = auto()
    """Nothing more comes, and the connection stays open until the client hangs up."""


@dataclass(frozen=True, slots=True)
class Farewell:
    """The last pieces of an answer, each written by itself, and how it ends. A cut of the server stays a cut."""

    pieces: Sequence[bytes] = ()
    ending: Ending = Ending.WHOLE


class Watcher(Protocol):
    """One exchange on its way through. What it returns is what the client gets.

    The order is `answered`, any number of `piece`, one `ended`; an exchange that fails early has only its `ended`.
    """

    def answered(self, status: int, content_type: str) -> None:
        """The head of the answer is there. content_type: lower case, without parameters."""

    def piece(self, data: bytes) -> Sequence[bytes]:
        """Bytes of the body, as they came. Nothing is compressed: the proxy asks the server for plain bytes."""

    def ended(self, fault: str | None) -> Farewell:
        """No more comes. fault: why the answer is not whole (the server died, the client hung up), else None."""


Watch = Callable[[PassingRequest], Watcher | None]
"""Asked for each request; None passes the exchange on unseen."""
