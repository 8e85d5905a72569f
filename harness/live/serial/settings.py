"""How much is asked again after a load.

Owns: the settings and the bounds. Does not own: the options' words (`harness/cli`). Floor 5. Source: ours.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf
from typing import Any, Final

from kernels.errors import ConfigError
from results.serial.chance import Turns, fewest_turns

DEFAULT_TURNS: Final = 16
WRONG_FACTOR: Final = 2
SAMPLE_FACTOR: Final = 3
WEAK_FACTOR: Final = 4
TIME_S_MIN: Final = 60.0
QUIET_S_MAX: Final = 30.0
RESCORED_MAX: Final = 8


@dataclass(frozen=True, slots=True)
class SerialSettings:
    """turns: the sample; 0 asks nothing again. flush: empty the cache before each turn that is asked alone, where the
    server lets it. rescore: ask the quiet server how probable the loaded replies are. is_timed: it lasts no longer than
    the load did, or a minute."""

    turns: int = 0
    flush: bool = True
    rescore: bool = False
    is_timed: bool = True

    @property
    def wrong_max(self) -> int:
        """Of the run's wrong turns, so many are asked again."""
        return WRONG_FACTOR * self.turns

    def sample(self, judged: int, wrong: int) -> int:
        """How many turns are drawn. More where some are wrong: that the model errs by chance as often as it did under
        load is ruled out by some turns over that rate that are right alone."""
        needed = fewest_turns(Turns(wrong, judged)) if wrong else self.turns
        most = SAMPLE_FACTOR * self.turns
        return min(judged, max(self.turns, most if needed is None else min(most, needed)))

    def weak_sample(self, judged: int) -> int:
        """Of a model that fails some alone: two rates are compared then, and that takes more."""
        return min(judged, WEAK_FACTOR * self.turns)

    def time_max_s(self, load_s: float) -> float:
        return max(TIME_S_MIN, load_s) if self.is_timed else inf


def serial_settings(arguments: Mapping[str, Any], *, arms: int) -> SerialSettings:
    """From the words of a command. Raises: ConfigError for what does not go together."""
    asked = arguments["serial_check"]
    turns = int(asked) if asked is not None else DEFAULT_TURNS if arms == 1 else 0
    if arguments["rescore"] and not turns:
        what = "--rescore needs turns that are asked again; give --serial-check"
        raise ConfigError(what, key="--rescore")
    # Who says how many wants them, however long that takes.
    is_timed = asked is None
    return SerialSettings(
        turns, flush=bool(arguments["flush"]), rescore=bool(arguments["rescore"]), is_timed=is_timed
    )  # fmt: skip


def serial_words(arguments: Mapping[str, Any]) -> list[str]:
    """Its part of the command that repeats a run."""
    asked = arguments["serial_check"]
    words = [] if asked is None else ["--serial-check", str(asked)]
    words += [] if arguments["flush"] else ["--no-flush"]
    return words + (["--rescore"] if arguments["rescore"] else [])
