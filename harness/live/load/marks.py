"""What the load was doing with each turn, written on its record.

Owns: the marks of warm-up and pattern; that of hanging up is there already (`harness/load/generator.py`).
Does not own: what follows from them (`harness/live/keeping.py`, `results/reader.py`). Floor 5. Source: ours.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from harness.live.load.pattern import Wave
from harness.live.load.warm_up import WarmUp
from results.records import LoadMark, TurnRecord


class Marker:
    """warm_up: None where everything counts."""

    def __init__(self, warm_up: WarmUp | None, waves: Sequence[Wave]) -> None:
        self._warm_up = warm_up
        self._phases = {key: wave.phase for wave in waves for key in wave.keys}

    def __repr__(self) -> str:
        return f"Marker({self._warm_up}, {len(self._phases)} turns in phases)"

    def marked(self, turn: TurnRecord) -> TurnRecord:
        """The record with its mark; without one where there is nothing to say."""
        mark = LoadMark(
            phase=self._phases.get(turn.key, ""),
            is_warm_up=self._warm_up is not None and self._warm_up.covers(turn.session, turn.sent_ns),
            hung_up="" if turn.load is None else turn.load.hung_up,
        )
        return turn if mark == LoadMark() else replace(turn, load=mark)
