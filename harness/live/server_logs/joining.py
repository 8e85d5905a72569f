"""Lines of a log brought to the run's time and to its turns.

Owns: which turns a line names, else which were in flight when it was written. Does not own: lines (`lines.py`), the
verdict (`results/server_log`). Pure. Floor 5. Source: SGLang's and vLLM's reply ids are the request ids of their logs.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from harness.live.server_logs.lines import LogLines, SeenLine
from harness.live.server_logs.patterns import pattern_of
from results.records import TurnRecord
from results.server_log import LogFinding

_ID_CHARACTERS_MIN: Final = 8
_REPLY_ID: Final = re.compile(r'"id"\s*:\s*"([^"\\]{8,96})"')
_WORD: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:-]{7,95}")
_RAW_LOOKED_AT: Final = 4_096
_TURNS_MAX: Final = 64
_CLOCKS_APART_MAX_S: Final = 300.0
_AFTER_RUN_S: Final = 60.0
_BEFORE_RUN_S: Final = 2.0
_ABOUT_S: Final = 1.0
"""A line is written a little after what it tells, and its time is often cut to the second."""
_UNKNOWN_END_S: Final = 120.0
_ERROR_SHOWN: Final = 300

Key = tuple[int, int]


@dataclass(frozen=True, slots=True)
class TurnSpan:
    """When a turn was in flight, in seconds of the run."""

    key: Key
    sent_s: float
    ended_s: float


@dataclass(slots=True)
class RunTurns:
    """What of a run's turns is needed to join lines to them; grows while the run goes on.

    origin_s: the instant from which the turns' times count, since 1970; None until it is known. Replies that have just
    ended tell it, each a little too late: the earliest is the best.
    """

    origin_s: float | None = None
    ids: dict[str, Key] = field(default_factory=dict)
    spans: list[TurnSpan] = field(default_factory=list)
    errors: list[tuple[Key, float, str]] = field(default_factory=list)

    def add(self, turn: TurnRecord, now_s: float | None) -> None:
        """A turn that has ended; now_s: since 1970, where it has ended just now."""
        sent_s, ended_s = turn.sent_ns / 1e9, None if turn.finished_ns is None else turn.finished_ns / 1e9
        if ended_s is not None and now_s is not None:
            self.origin_s = now_s - ended_s if self.origin_s is None else min(self.origin_s, now_s - ended_s)
        self.spans.append(TurnSpan(turn.key, sent_s, sent_s + _UNKNOWN_END_S if ended_s is None else ended_s))
        self.ids[turn.request_id] = turn.key
        self.name(turn.key, turn.raw or "")
        if turn.error is not None:
            self.errors.append((turn.key, sent_s, turn.error))

    def name(self, key: Key, raw: str) -> None:
        """The id under which the server knows a reply stands in its first event."""
        found = _REPLY_ID.search(raw[:_RAW_LOOKED_AT])
        if found is not None and not found[1].startswith("call_"):
            self.ids.setdefault(found[1], key)

    @property
    def end_s(self) -> float:
        return max((span.ended_s for span in self.spans), default=0.0)


def findings_of(lines: LogLines, turns: RunTurns) -> list[LogFinding]:
    """What one log says of the run, in the order in which it stands there."""
    found = [_finding(line, lines, turns) for line in lines.seen]
    last = {one.name: place for place, one in enumerate(found)}
    for name, place in last.items():
        found[place] = _with_more(found[place], lines.more[name])
    return found


def findings_of_errors(turns: RunTurns) -> list[LogFinding]:
    """A server that drops a request for its integrity says so in the answer, too."""
    found = []
    for key, sent_s, error in turns.errors:
        pattern = pattern_of(error)
        if pattern is not None and pattern.is_integrity:
            where, at_s = "the answer itself", round(sent_s, 3)
            text = error[:_ERROR_SHOWN]
            found.append(LogFinding(pattern.name, pattern.group, True, pattern.weight, where, at_s, "", text,
                                    (key,), "request"))  # fmt: skip
    return found


def _finding(line: SeenLine, lines: LogLines, turns: RunTurns) -> LogFinding:
    at_s = _at_s(line, lines.zone.offset_s or 0.0, turns.origin_s)
    named = _named(line.text, turns.ids)
    is_in_run = bool(named) or line.arrived_s is not None
    if at_s is not None and line.arrived_s is None:
        is_in_run = is_in_run or -_BEFORE_RUN_S <= at_s <= turns.end_s + _AFTER_RUN_S
    in_flight = () if named or at_s is None else tuple(_in_flight(at_s, turns.spans))[:_TURNS_MAX]
    pattern = line.pattern
    return LogFinding(
        name=pattern.name, group=pattern.group, is_integrity=pattern.is_integrity, weight=pattern.weight,
        source=lines.source, at_s=None if at_s is None else round(at_s, 3),
        stamp="" if line.stamp is None else line.stamp.text, text=line.text, turns=named or in_flight,
        how="request" if named else "time" if in_flight else "none", is_in_run=is_in_run,
    )  # fmt: skip


def _at_s(line: SeenLine, offset_s: float, origin_s: float | None) -> float | None:
    """The line's own time, or, where it has none or one that is far from its arrival, when it was read."""
    if origin_s is None:
        return None
    arrived_s = None if line.arrived_s is None else line.arrived_s - origin_s
    if line.stamp is None:
        return arrived_s
    written_s = line.stamp.epoch_s - (0.0 if line.stamp.has_zone else offset_s) - origin_s
    if arrived_s is not None and abs(written_s - arrived_s) > _CLOCKS_APART_MAX_S:
        return arrived_s
    return written_s


def _named(text: str, ids: Mapping[str, Key]) -> tuple[Key, ...]:
    found: dict[Key, None] = {}
    for word in _WORD.findall(text):
        # vLLM puts a suffix of its own behind the id of the reply.
        for candidate in (word.strip(".:-"), word.rpartition("-")[0]):
            if len(candidate) >= _ID_CHARACTERS_MIN and candidate in ids:
                found[ids[candidate]] = None
    return tuple(found)


def _in_flight(at_s: float, spans: Iterable[TurnSpan]) -> Iterator[Key]:
    for span in spans:
        if span.sent_s - _ABOUT_S <= at_s <= span.ended_s + _ABOUT_S:
            yield span.key


def _with_more(one: LogFinding, more: int) -> LogFinding:
    return replace(one, more=more) if more else one
