"""What one tool made of one target, once.

Owns: the record, and how it is stored. Does not own: the truth of a reply (`questions`).
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Found:
    """is_alarm: the tool says that something is wrong. is_true: a reply that it points at is wrong indeed; None where
    it points at nothing. alarm_s, alarm_requests: up to the moment when the user could know. total_*: the whole run.
    exit_code: None where the tool has none. said: in the tool's own words, short. start_s: of the alarm's seconds,
    those before the first request, where they are known.
    """

    tool: str
    target: str
    seed: int
    is_alarm: bool
    is_true: bool | None
    alarm_s: float | None
    alarm_requests: int | None
    total_s: float
    total_requests: int
    exit_code: int | None
    said: str
    replays: tuple[int, int] | None = None
    start_s: float | None = None

    def as_json(self) -> dict[str, Any]:
        return {name: round(value, 3) if isinstance(value, float) else value for name, value in asdict(self).items()}
