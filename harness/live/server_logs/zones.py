"""Which zone a log's times are in, where it does not say.

Owns: learning it from lines whose arrival was seen, and reading it from the command line. Does not own: the times
themselves (`stamps.py`). Pure. Floor 5. Source: ours. Zones lie on quarters of an hour, and a line is read within
seconds of being written, so the difference between the two clocks shows the zone.
"""

from __future__ import annotations

import re
from collections import Counter
from datetime import datetime
from typing import Final

from kernels.errors import ConfigError

_QUARTER_S: Final = 900
_LATE_MAX_S: Final = 240.0
_ENOUGH: Final = 20
_OFFSET = re.compile(r"(?P<sign>[+-])(?P<hours>\d\d):?(?P<minutes>\d\d)")


class ZoneGuess:
    """Fed with times without a zone whose arrival is known. offset_s: to be taken off such a time; None: not known."""

    def __init__(self, offset_s: float | None = None) -> None:
        self._given_s = offset_s
        self._seen: Counter[int] = Counter()

    def __repr__(self) -> str:
        return f"ZoneGuess({self.offset_s})"

    @property
    def offset_s(self) -> float | None:
        if self._given_s is not None or not self._seen:
            return self._given_s
        return float(self._seen.most_common(1)[0][0])

    @property
    def needs_more(self) -> bool:
        return self._given_s is None and self._seen.total() < _ENOUGH

    def saw(self, stamp_s: float, arrived_s: float) -> None:
        quarters = round((stamp_s - arrived_s) / _QUARTER_S)
        # A line that was read long after it was written (old lines of a file that was rotated in) shows nothing.
        if abs(stamp_s - arrived_s - quarters * _QUARTER_S) <= _LATE_MAX_S:
            self._seen[quarters * _QUARTER_S] += 1

    def words(self) -> str:
        if self.offset_s is None:
            return "no time without a zone was seen"
        hours, rest = divmod(abs(int(self.offset_s)), 3_600)
        zone = f"UTC{'-' if self.offset_s < 0 else '+'}{hours:02}:{rest // 60:02}"
        return f"times without a zone are in {zone}{'' if self._given_s is not None else ', as their arrival shows'}"


def zone_offset_s(text: str, at: datetime) -> float:
    """`utc`, `local` or `+02:00`, in seconds east of Greenwich. Raises: ConfigError."""
    word = text.strip().lower()
    if word in ("utc", "z"):
        return 0.0
    if word == "local":
        offset = at.astimezone().utcoffset()
        return 0.0 if offset is None else offset.total_seconds()
    match = _OFFSET.fullmatch(word)
    if match is None or int(match["hours"]) > 14 or int(match["minutes"]) > 59:
        raise ConfigError(
            f"--log-zone '{text}' is no zone; write utc, local or an offset such as +02:00", key="--log-zone"
        )
    return (1 if match["sign"] == "+" else -1) * (int(match["hours"]) * 3_600.0 + int(match["minutes"]) * 60.0)
