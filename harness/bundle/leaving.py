"""When the run's clients hung up on a reply on purpose, so that a script can do it again.

Owns: the moment, as a client can know it. Does not own: the hanging up (`reproduction.py.txt`), why a run does it
(`harness/live/load/churn`). Floor 5. Source: ours.

A run keeps the phase, and what had come by then. Before the first text a moment is a time since the request was sent,
which follows from the replies before it, by the rule of the run itself; after it, a number of pieces of text.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from harness.live.load.churn import REMEMBERED, waits_s
from harness.transport.reply import ReplyBuilder
from results import layout
from results.lines import LineFault, each_line
from results.reader import Run
from results.records import TurnRecord
from results.store import RawReply

_PIECES_MIN: Final = 2
"""In the middle of an answer is past its first piece."""


@dataclass(frozen=True, slots=True)
class Leave:
    """One of after_s, since the request was sent, unless text comes before; and pieces of text."""

    phase: str
    after_s: float | None = None
    pieces: int | None = None

    def fields(self) -> dict[str, object]:
        moment = {"pieces": self.pieces} if self.after_s is None else {"after_s": self.after_s}
        return {"phase": self.phase, **moment}


def leaves_of(run: Run) -> dict[tuple[int, int], Leave]:
    """Of every turn that was hung up upon."""
    left = [(turn, turn.load.hung_up) for turn in run.aside if turn.load is not None and turn.load.hung_up]
    pieces = _pieces(run, {turn.key for turn, phase in left if phase == "mid-answer"})
    waits = _Waits((*run.turns, *run.aside)) if left else None
    found = {}
    for turn, phase in left:
        match phase:
            case "queued" | "prefill":
                assert waits is not None
                found[turn.key] = Leave(phase, after_s=round(waits_s(phase, waits.before(turn.sent_ns)), 6))
            case "first-token":
                found[turn.key] = Leave(phase, pieces=1)
            case _:
                found[turn.key] = Leave(phase, pieces=max(_PIECES_MIN, pieces.get(turn.key, 0)))
    return found


class _Waits:
    """What whole replies took to their first token, in the order in which they ended."""

    def __init__(self, turns: Iterable[TurnRecord]) -> None:
        ended = sorted(
            (turn.finished_ns, (turn.first_token_ns - turn.sent_ns) / 1e9)
            for turn in turns
            if turn.error is None and turn.finished_ns is not None and turn.first_token_ns is not None
        )
        self._ends_ns = [end_ns for end_ns, _ in ended]
        self._waits_s = [wait_s for _, wait_s in ended]

    def before(self, time_ns: int) -> list[float]:
        end = bisect_right(self._ends_ns, time_ns)
        return self._waits_s[max(0, end - REMEMBERED) : end]


def _pieces(run: Run, wanted: set[tuple[int, int]]) -> dict[tuple[int, int], int]:
    """How many pieces of text had come. Raw replies are most of a run's bytes, so they are read one by one."""
    path = run.path / layout.RAW
    if not wanted or not path.is_file():
        return {}
    counts = {}
    with path.open("rb") as stream:
        for _, one in each_line(stream, path.name, RawReply):
            if not isinstance(one, LineFault) and (one.session, one.turn) in wanted:
                builder = ReplyBuilder(status=None, keep_raw=False)
                builder.feed(one.raw.encode("utf-8", "replace"), now_ns=0)
                counts[one.session, one.turn] = builder.text_count
    return counts
