"""What a damage starts from and what it leaves.

Owns: both records, and the seam itself. Does not own: any damage. Floor 5. Source: ours.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from results.records import ExpectedCall, TurnRecord

Prose = Callable[[np.random.Generator, int], str]
"""Sound text of at most so many sentences."""


@dataclass(frozen=True, slots=True)
class Scene:
    """A sound turn, a call that was planted for another session, that session's secret words, and sound text."""

    turn: TurnRecord
    other: ExpectedCall
    foreign: tuple[str, ...]
    prose: Prose

    @property
    def expected(self) -> ExpectedCall:
        """The right call of the turn, which a sound reply holds."""
        assert self.turn.expected is not None, "only a turn whose right answer is known can be damaged"
        return self.turn.expected


@dataclass(frozen=True, slots=True)
class Damaged:
    """strength: how much damage, in words; cases of one strength are counted together."""

    turn: TurnRecord
    strength: str


Damage = Callable[[np.random.Generator, Scene], Damaged]
