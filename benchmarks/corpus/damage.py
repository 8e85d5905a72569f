"""What a damage starts from and what it leaves. Source: ours."""

from __future__ import annotations

from dataclasses import dataclass

from results.records import ExpectedCall, TurnRecord


@dataclass(frozen=True, slots=True)
class Scene:
    """A sound turn, a call that was planted for another session, and another session's secret words."""

    turn: TurnRecord
    other: ExpectedCall
    foreign: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Damaged:
    """strength: how much damage, in words; cases of one strength are counted together."""

    turn: TurnRecord
    strength: str
