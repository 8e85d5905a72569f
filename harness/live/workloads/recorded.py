"""A capture of real traffic as sessions: requests that go on from each other, with their pauses.

Owns: which exchanges are replayed, and when. Does not own: the capture, and which request goes on from which
(`harness/capture`), messages (`messages.py`). Floor 5. Source: ours. All that is kept of an exchange is its place: a
capture may be larger than memory.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from harness.capture.conversations import Conversations, Place
from harness.capture.record import Exchange, StoredExchanges
from harness.live.workloads.entries import KEY, Entry
from harness.live.workloads.messages import checked_messages, checked_tools, sent_fields
from harness.live.workloads.openai_messages import NO_QUESTION
from harness.live.workloads.scripted import Answer, ScriptedSession, ScriptedTurn, tools_tokens, written
from harness.load.workload.calls import Tool
from harness.load.workload.plan import ForkPoint, Message
from kernels.errors import ConfigError
from results.lines import LineFault

CHAT: Final = "/chat/completions"
RETRIES: Final = "requests that were only sent again"
REFUSED: Final = "exchanges that the server had refused"
DAMAGED: Final = "lines of the capture that cannot be read"
_STATUS_REFUSED: Final = range(400, 500)


@dataclass(frozen=True, slots=True)
class _Head:
    """Where an exchange stands in the file, and when it was."""

    line: int
    place: int
    arrived_ns: int
    ended_ns: int


@dataclass(frozen=True, slots=True)
class _Step:
    """One turn. known: so many messages of its request were sent by the turns before. pause_ns: after it."""

    head: _Head
    known: int
    pause_ns: int = 0


@dataclass(slots=True)
class _Strand:
    """One conversation while it grows."""

    fork: ForkPoint | None = None
    steps: list[_Step] = field(default_factory=list)


class RecordedSource:
    """Raises, when it is made: ConfigError for a folder that is no capture, or holds no chat."""

    def __init__(self, folder: Path, left_out: Counter[str]) -> None:
        self._stored = StoredExchanges(folder)
        self._strands: list[_Strand] = []
        conversations = Conversations()
        # An exchange is stored when it has ended, and what follows what is told by when it began.
        for head in sorted(self._served(left_out), key=lambda one: one.arrived_ns):
            exchange, messages, _ = self._request(head)
            place = conversations.add(exchange.body)
            if place is not None:
                self._add(head, place)
            else:
                left_out[RETRIES if messages else NO_QUESTION] += 1
        if not self._strands:
            raise ConfigError("this capture holds no chat that was served", key=KEY, file=folder)

    def __repr__(self) -> str:
        return f"RecordedSource({self._stored}, {len(self._strands)} sessions)"

    def sessions(self) -> Iterator[ScriptedSession]:
        begins_ns = [strand.steps[0].head.arrived_ns for strand in self._strands]
        for number, strand in enumerate(self._strands):
            _, _, tools = self._request(strand.steps[0].head)
            yield ScriptedSession(
                session=number, turns=tuple(map(self._turn, strand.steps)), start_ns=begins_ns[number] - min(begins_ns),
                tools=tools, opening_tokens=tools_tokens(tools), fork=strand.fork,
            )  # fmt: skip

    def _served(self, left_out: Counter[str]) -> Iterator[_Head]:
        """Every chat that was served, or at least not refused. Effect: counts the others."""
        for line, (place, exchange) in enumerate(self._stored.each(), start=1):
            if isinstance(exchange, LineFault):
                left_out[DAMAGED] += 1
                continue
            path = exchange.path.partition("?")[0]
            if not path.endswith(CHAT):
                left_out[f"exchanges with {path}"] += 1
            elif exchange.status in _STATUS_REFUSED:
                left_out[REFUSED] += 1
            else:
                ended_ns = exchange.arrived_ns if exchange.ended_ns is None else exchange.ended_ns
                yield _Head(line, place, exchange.arrived_ns, ended_ns)

    def _request(self, head: _Head) -> tuple[Exchange, list[Message], tuple[Tool, ...]]:
        """Raises: ConfigError with its line for what no server could take."""
        exchange = self._stored.at(head.place)
        entry = self._entry(head, exchange)
        messages = checked_messages(entry, entry.field("messages", list))
        tools = checked_tools(entry, entry.optional("tools", list) or ())
        sent_fields(entry)
        return exchange, messages, tools

    def _entry(self, head: _Head, exchange: Exchange) -> Entry:
        return Entry(self._stored.file, head.line, exchange.body)

    def _add(self, head: _Head, place: Place) -> None:
        fork = None
        if place.after is not None:
            session, turn = place.after
            before = self._strands[session].steps[turn]
            pause_ns = max(0, head.arrived_ns - before.head.ended_ns)
            if not place.is_fork:
                self._strands[session].steps[turn] = replace(before, pause_ns=pause_ns)
                self._strands[session].steps.append(_Step(head, place.known))
                return
            fork = ForkPoint(session, turn, pause_ns)
        self._strands.append(_Strand(fork, [_Step(head, 0)]))

    def _turn(self, step: _Step) -> ScriptedTurn:
        exchange, messages, _ = self._request(step.head)
        extra, limit = sent_fields(self._entry(step.head, exchange))
        recorded = None if exchange.error is not None else _answer(exchange)
        return ScriptedTurn(
            written(messages[step.known :]), step.pause_ns, max_tokens=limit, extra=extra, recorded=recorded
        )


def _answer(exchange: Exchange) -> Answer:
    reply = exchange.reply
    return Answer(reply.content, tuple((call.name, call.arguments) for call in reply.tool_calls))
