"""Bytes of one log in, lines that matter out: bounded, cleaned, without secrets.

Owns: cutting into lines, cleaning, how many lines are kept. Does not own: where the bytes come from (`tail.py`,
`attach.py`), what a line means for a run (`joining.py`). Floor 5. Source: ours. A log may hold anything: halves of
lines, colours, binary garbage, one line without an end.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from harness.live.credentials import MASK
from harness.live.server_logs.patterns import LogPattern, pattern_of
from harness.live.server_logs.stamps import Stamp, read_stamp
from harness.live.server_logs.zones import ZoneGuess

LINE_BYTES_MAX: Final = 64 * 1024
KEPT_MAX: Final = 200
"""Of one pattern in one file; the rest is counted."""
_TEXT_MAX: Final = 500
_BEFORE_ANCHOR: Final = 160
_ZONE_LINES_MAX: Final = 2_000
_COLOUR: Final = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_UNPRINTABLE: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\u0080-\u009f\ufffd]+")
_TOKENS: Final = re.compile(r"(?i)\b(bearer\s+|api[_-]?key['\"]?\s*[=:]\s*['\"]?)[^\s'\",]{6,}|\b(sk-|hf_)[\w-]{8,}")


@dataclass(frozen=True, slots=True)
class SeenLine:
    """arrived_s: when it was read, since 1970; None for a log that was fetched later."""

    pattern: LogPattern
    text: str
    stamp: Stamp | None
    arrived_s: float | None


class LogLines:
    """One file. scrub: takes the run's own secrets out. about_s: an instant of the run, since 1970."""

    def __init__(self, source: str, zone: ZoneGuess, *, about_s: float, scrub: Callable[[str], str]) -> None:
        self.source = source
        self.zone = zone
        self.seen: list[SeenLine] = []
        self.more: Counter[str] = Counter()
        self.line_count = 0
        self._kept: Counter[str] = Counter()
        self._about_s = about_s
        self._scrub = scrub
        self._rest = b""
        self._is_skipping = False

    def __repr__(self) -> str:
        return f"LogLines({self.source}, {self.line_count} lines, {len(self.seen)} kept)"

    def feed(self, data: bytes, arrived_s: float | None) -> None:
        *whole, rest = (self._rest + data).split(b"\n")
        for line in whole:
            if self._is_skipping:
                # The end of a line whose beginning has been read.
                self._is_skipping = False
                continue
            self._line(line[:LINE_BYTES_MAX], arrived_s)
        if len(rest) > LINE_BYTES_MAX:
            if not self._is_skipping:
                self._line(rest[:LINE_BYTES_MAX], arrived_s)
            self._is_skipping, rest = True, b""
        self._rest = rest

    def close(self, arrived_s: float | None) -> None:
        """The last line may have no end: the server may have died in it."""
        if self._rest and not self._is_skipping:
            self._line(self._rest, arrived_s)
        self._rest, self._is_skipping = b"", False

    def _line(self, raw: bytes, arrived_s: float | None) -> None:
        self.line_count += 1
        line = raw.decode("utf-8", "replace")
        if arrived_s is not None and self.zone.needs_more and self.line_count <= _ZONE_LINES_MAX:
            self._learn(read_stamp(line, self._about_s), arrived_s)
        pattern = pattern_of(line)
        if pattern is None:
            return
        if self._kept[pattern.name] >= KEPT_MAX:
            self.more[pattern.name] += 1
            return
        self._kept[pattern.name] += 1
        stamp = read_stamp(_COLOUR.sub("", line), self._about_s)
        self.seen.append(SeenLine(pattern, self._clean(line, pattern), stamp, arrived_s))

    def _learn(self, stamp: Stamp | None, arrived_s: float) -> None:
        if stamp is not None and not stamp.has_zone:
            self.zone.saw(stamp.epoch_s, arrived_s)

    def _clean(self, line: str, pattern: LogPattern) -> str:
        # Secrets first: a cut through one would leave half of it.
        whole = _UNPRINTABLE.sub(" ", _COLOUR.sub("", _TOKENS.sub(MASK, self._scrub(line)))).strip()
        at = min((place for anchor in pattern.anchors if (place := whole.find(anchor)) >= 0), default=0)
        begin = max(0, at - _BEFORE_ANCHOR)
        end = begin + _TEXT_MAX
        return f"{'...' if begin else ''}{whole[begin:end]}{'...' if len(whole) > end else ''}"
