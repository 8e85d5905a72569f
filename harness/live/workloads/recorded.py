"""A capture of real traffic as sessions: requests that go on from each other, with their pauses.

Owns: which exchanges belong together. Does not own: the capture (`harness/capture`), messages (`messages.py`).
Floor 5. Source: ours. A client sends its whole history each time, so a request whose messages begin with all those of
an earlier one, with the same tools, is the next turn of that conversation; a second such request is a fork of it.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from itertools import count
from pathlib import Path
from typing import Any, Final

from harness.capture.record import EXCHANGES, Exchange, read_capture
from harness.live.workloads.entries import KEY, Entry
from harness.live.workloads.messages import checked_messages, checked_tools, sent_fields
from harness.live.workloads.scripted import Answer, ScriptedSession, ScriptedTurn, tools_tokens, written
from harness.load.workload.calls import Tool
from harness.load.workload.plan import ForkPoint, Message
from kernels.errors import ConfigError

CHAT: Final = "/chat/completions"
RETRIES: Final = "requests that were only sent again"
REFUSED: Final = "exchanges that the server had refused"
DAMAGED: Final = "lines of the capture that cannot be read"
_STATUS_REFUSED: Final = range(400, 500)


@dataclass(slots=True)
class _Strand:
    """One conversation while it grows. ended_ns: of each reply."""

    tools: tuple[Tool, ...]
    begin_ns: int
    fork: ForkPoint | None = None
    turns: list[ScriptedTurn] = field(default_factory=list)
    pauses_ns: list[int] = field(default_factory=list)
    ended_ns: list[int] = field(default_factory=list)


class RecordedSource:
    """Raises, when it is made: ConfigError for a folder that is no capture, or holds no chat."""

    def __init__(self, folder: Path, left_out: Counter[str]) -> None:
        self._folder = folder
        self._strands: list[_Strand] = []
        self._ends: dict[bytes, tuple[int, int]] = {}
        capture = read_capture(folder)
        if capture.faults:
            left_out[DAMAGED] += len(capture.faults)
        damaged = {fault.line for fault in capture.faults}
        lines = (line for line in count(1) if line not in damaged)
        # An exchange is stored when it has ended, and what follows what is told by when it began.
        for exchange, line in sorted(zip(capture.exchanges, lines, strict=False), key=lambda one: one[0].arrived_ns):
            if not exchange.path.partition("?")[0].endswith(CHAT):
                left_out[f"exchanges with {exchange.path.partition('?')[0]}"] += 1
            elif exchange.status in _STATUS_REFUSED:
                left_out[REFUSED] += 1
            else:
                self._add(Entry(folder / EXCHANGES, line, exchange.body), exchange, left_out)
        if not self._strands:
            raise ConfigError("this capture holds no chat that was served", key=KEY, file=folder)

    def __repr__(self) -> str:
        return f"RecordedSource({self._folder}, {len(self._strands)} sessions)"

    def sessions(self) -> Iterator[ScriptedSession]:
        begin_ns = min(strand.begin_ns for strand in self._strands)
        for number, strand in enumerate(self._strands):
            yield ScriptedSession(
                session=number, turns=_paused(strand.turns, strand.pauses_ns), start_ns=strand.begin_ns - begin_ns,
                tools=strand.tools, opening_tokens=tools_tokens(strand.tools), fork=strand.fork,
            )  # fmt: skip

    def _add(self, entry: Entry, exchange: Exchange, left_out: Counter[str]) -> None:
        messages = checked_messages(entry, entry.field("messages", list))
        tools = checked_tools(entry, entry.optional("tools", list) or ())
        digests = _prefix_digests(tools, messages)
        if digests[-1] in self._ends:
            left_out[RETRIES] += 1
            return
        known = next((at for at in range(len(messages) - 1, 0, -1) if digests[at] in self._ends), 0)
        fork = None
        if known:
            number, turn = self._ends[digests[known]]
            fork = ForkPoint(number, turn, max(0, exchange.arrived_ns - self._strands[number].ended_ns[turn]))
        if fork is not None and fork.turn + 1 == len(self._strands[fork.parent].turns):
            number, strand = fork.parent, self._strands[fork.parent]
            strand.pauses_ns.append(fork.delay_ns)
            added = messages[known:]
        else:
            number, strand = len(self._strands), _Strand(tools, exchange.arrived_ns, fork)
            self._strands.append(strand)
            added = messages
        extra, limit = sent_fields(entry)
        recorded = None if exchange.error is not None else _answer(exchange)
        self._ends[digests[-1]] = (number, len(strand.turns))
        strand.turns.append(ScriptedTurn(written(added), max_tokens=limit, extra=extra, recorded=recorded))
        strand.ended_ns.append(exchange.arrived_ns if exchange.ended_ns is None else exchange.ended_ns)


def _paused(turns: Sequence[ScriptedTurn], pauses_ns: Sequence[int]) -> tuple[ScriptedTurn, ...]:
    pauses = [*pauses_ns, 0]
    return tuple(replace(turn, think_ns=pause) for turn, pause in zip(turns, pauses, strict=True))


def _prefix_digests(tools: Sequence[Tool], messages: Sequence[Message]) -> list[bytes]:
    """Of the tools with the first n messages, for every n."""
    state = blake2b(_plain(list(tools)), digest_size=16)
    digests = [state.digest()]
    for message in messages:
        state.update(_plain(message))
        digests.append(state.digest())
    return digests


def _plain(value: Any) -> bytes:
    return json.dumps(value, sort_keys=True).encode() + b"\0"


def _answer(exchange: Exchange) -> Answer:
    reply = exchange.reply
    return Answer(reply.content, tuple((call.name, call.arguments) for call in reply.tool_calls))
