"""One answer of a probe.

Owns: its fields. Does not own: questions. Floor 5.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Answer = Literal["yes", "no", "unknown"]


@dataclass(frozen=True, slots=True)
class Probed:
    """One question's answer. detail: a sentence with what was seen."""

    question: str
    answer: Answer
    detail: str
