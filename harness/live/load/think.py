"""Pauses between a reply and the next turn, where they shall not be the plan's own.

Owns: drawing them. Does not own: keeping them (`harness/load/generator.py`). Pure. Floor 5. Source: ours.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, Literal, cast

import numpy as np

from kernels.errors import ConfigError

ThinkKind = Literal["constant", "exponential"]
THINK_S_MAX: Final = 3600.0
PLANNED: Final = "plan"
_STREAM: Final = 8
_FORM = re.compile(r"(constant|exponential):(\d{1,6}(?:\.\d{1,6})?)s?")


@dataclass(frozen=True, slots=True)
class ThinkTimes:
    """seconds: of every pause, or their mean."""

    kind: ThinkKind
    seconds: float

    def words(self) -> str:
        return f"think times {'of' if self.kind == 'constant' else 'of about'} {self.seconds:g} s"

    def pause_ns(self, seed: int, session: int, turn: int) -> int:
        """After this turn: the same for a seed, whatever else happens."""
        if self.kind == "constant":
            return round(self.seconds * 1e9)
        rng = np.random.default_rng([seed, _STREAM, session, turn])
        return round(float(rng.exponential(self.seconds)) * 1e9)


def think_times(text: str) -> ThinkTimes | None:
    """None: the plan's own. Raises: ConfigError."""
    if text == PLANNED:
        return None
    match = _FORM.fullmatch(text)
    if match is None or float(match[2]) > THINK_S_MAX:
        forms = f"plan, constant:SECONDS or exponential:SECONDS, at most {THINK_S_MAX:g} s"
        raise ConfigError(f"--think '{text}' is none of {forms}", key="--think", value=text)
    return ThinkTimes(cast(ThinkKind, match[1]), float(match[2]))
