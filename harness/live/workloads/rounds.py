"""Sessions of a file, round by round: as many as run at once, then the next ones, and the first again at its end.

Owns: numbering, groups, planting a word, leaving out what a server cannot take. Does not own: reading (each format).
Floor 5. Source: ours.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, Final

import jsonschema_rs

from harness.config.schema import WorkloadSpec
from harness.live.workloads.blocks import secret_word
from harness.live.workloads.formats import SECRET, FileWorkload, SessionSource
from harness.live.workloads.mooncake import MooncakeSource
from harness.live.workloads.openai_messages import OpenAiMessagesSource
from harness.live.workloads.recorded import RecordedSource
from harness.live.workloads.scripted import CountTokens, ScriptedSession, tokens_in, written
from harness.live.workloads.sharegpt import ShareGptSource
from harness.live.workloads.vllm_multiturn import vllm_multiturn
from harness.load.workload.calls import Tool
from harness.load.workload.plan import Message
from kernels.errors import ConfigError
from results.records import ToolSchema

TOO_LONG: Final = "sessions that do not fit the server's context"
BAD_SCHEMA: Final = "tools whose parameters are no JSON Schema, so that calls of them are not checked"
_OPENING_ROLES: Final = ("system", "developer")


@dataclass(frozen=True, slots=True)
class FileRound:
    """The sessions of one round, as `PlannedWorkload`. passes: how often the file was begun anew so far."""

    sessions: tuple[ScriptedSession, ...]
    schemas: tuple[ToolSchema, ...]
    left_out: Mapping[str, int]
    passes: int

    def tool_schemas(self) -> tuple[ToolSchema, ...]:
        return self.schemas


class FileRounds:
    """Rounds are built in order: 0, 1, 2, ...

    max_tokens: of the longest reply. keeps_times: whether sessions begin when the file says; else all at once.
    keeps_waits: whether turns wait for other sessions as the file says. is_once: a round ends with the file, however
    few its sessions: the same times twice would be twice a trace's load, and a session beside its own copy comes back
    to a cache that the copy has filled.
    """

    def __init__(
        self,
        asked: FileWorkload,
        spec: WorkloadSpec,
        seed: int,
        count_tokens: CountTokens,
        *,
        max_tokens: int,
        keeps_times: bool,
        keeps_waits: bool,
        is_once: bool,
    ) -> None:
        """Raises: ConfigError for a file that cannot be read, or holds nothing that can be sent."""
        self.spec = spec
        self.left_out: Counter[str] = Counter()
        self._asked = asked
        self._seed = seed
        self._room_tokens = None if asked.room_tokens is None else asked.room_tokens - max_tokens
        self._keeps_waits = keeps_waits
        self._keeps_times = keeps_times
        self._is_once = is_once
        self._groups: dict[str, int] = {}
        self._schemas: list[ToolSchema] = []
        self._passes = 0
        self._final: dict[str, int] = {}
        self._source = _source_of(asked, spec, seed, count_tokens, self.left_out)
        self._endless = self._forever()
        self._next = 0

    def __repr__(self) -> str:
        return f"FileRounds({self._asked.words}, {self.spec.sessions} sessions each, round {self._next} is next)"

    def build(self, number: int) -> FileRound:
        """Effect: reads on. May run in a thread of its own. Raises: ConfigError where the file is broken there."""
        assert number == self._next, f"round {number} after {self._next - 1}"
        if number == 0:
            for _ in range(self._asked.first * self.spec.sessions):
                next(self._endless)
        self._next += 1
        found = self._taken()
        first = number * self.spec.sessions
        # A round longer than the file has a session twice; turns that wait, wait for its last copy.
        places = {session.session: first + at for at, session in enumerate(found) if self._keeps_waits}
        numbered = tuple(self._numbered(session, first + at, places) for at, session in enumerate(found))
        # What a second pass leaves out was counted in the first.
        return FileRound(numbered, tuple(self._schemas), self._final or dict(self.left_out), self._passes)

    def _taken(self) -> list[ScriptedSession]:
        """The next round's sessions. Those with times begin with the first of them, wherever in the file that is."""
        found: list[ScriptedSession] = []
        passes: int | None = None
        for session in islice(self._endless, self.spec.sessions):
            passes = self._passes if passes is None else passes
            if self._is_once and self._passes != passes:
                self._passes = passes
                break
            found.append(session)
        begin_ns = min(session.start_ns for session in found)
        return [replace(session, start_ns=session.start_ns - begin_ns) for session in found]

    def _forever(self) -> Iterator[ScriptedSession]:
        """The file's sessions that can be sent, over and over."""
        while True:
            is_empty = True
            for session in self._source.sessions():
                planted = self._planted(session) if self._asked.plant == SECRET else session
                if not self._fits(planted):
                    self.left_out[TOO_LONG] += 1
                    continue
                is_empty = False
                yield planted
            if is_empty:
                raise ConfigError(self._nothing(), key="--workload", value=self._asked.words, file=self._asked.path)
            self._final = self._final or dict(self.left_out)
            self._passes += 1

    def _nothing(self) -> str:
        reasons = "; ".join(f"{count:,} {what}" for what, count in self.left_out.items())
        return f"no session of this file can be sent ({reasons or 'it holds none'})"

    def _fits(self, session: ScriptedSession) -> bool:
        longest = max(session.prompt_tokens(turn) for turn in range(len(session.turns)))
        return self._room_tokens is None or longest <= self._room_tokens

    def _planted(self, session: ScriptedSession) -> ScriptedSession:
        word = secret_word(self._seed, "session", session.session)
        line = f"The word {word} belongs to this conversation only. Begin every answer with it."
        if session.opening:
            opening = (_with_line(session.opening[0], line), *session.opening[1:])
        elif session.turns[0].prompt.messages()[0]["role"] in _OPENING_ROLES:
            return self._planted(_with_opening(session))
        else:
            opening = ({"role": "system", "content": line},)
        grown = session.opening_tokens + tokens_in(opening) - tokens_in(session.opening)
        return replace(session, opening=opening, opening_tokens=grown, secrets=(*session.secrets, word))

    def _numbered(self, session: ScriptedSession, number: int, places: Mapping[int, int]) -> ScriptedSession:
        """Ids of this run in place of the file's. What waits for a session of another round does not wait."""
        fork = session.fork if session.fork is not None and session.fork.parent in places else None
        turns = tuple(
            turn if not turn.waits_for else replace(
                turn, waits_for=tuple((places[one], at) for one, at in turn.waits_for if one in places)
            )
            for turn in session.turns
        )  # fmt: skip
        return replace(
            session,
            session=number,
            group=self._group(session.tools),
            turns=turns,
            start_ns=session.start_ns if self._keeps_times else 0,
            fork=None if fork is None else replace(fork, parent=places[fork.parent]),
        )

    def _group(self, tools: Sequence[Tool]) -> int:
        """Sessions with one list of tools are a group."""
        text = json.dumps(tools, sort_keys=True)
        if text not in self._groups:
            group = self._groups[text] = len(self._groups)
            self._schemas += self._schemas_of(tools, group)
        return self._groups[text]

    def _schemas_of(self, tools: Sequence[Tool], group: int) -> Iterator[ToolSchema]:
        for tool in tools:
            function: Mapping[str, Any] = tool.get("function") or {}
            parameters = function.get("parameters") or {}
            if not isinstance(parameters, dict) or not _is_schema(parameters):
                self.left_out[BAD_SCHEMA] += 1
                parameters = {}
            if "name" in function:
                yield ToolSchema(function["name"], str(function.get("description") or ""), parameters, (group,))


def _source_of(
    asked: FileWorkload, spec: WorkloadSpec, seed: int, count_tokens: CountTokens, left_out: Counter[str]
) -> SessionSource:
    match asked.kind:
        case "mooncake":
            return MooncakeSource(asked, spec, seed, count_tokens, left_out)
        case "sharegpt":
            return ShareGptSource(asked.path, left_out)
        case "vllm-multiturn":
            return vllm_multiturn(asked.path, seed, count_tokens, left_out)
        case "openai-messages":
            return OpenAiMessagesSource(asked.path, left_out)
        case _:
            return RecordedSource(asked.path, left_out)


def _with_opening(session: ScriptedSession) -> ScriptedSession:
    """The first turn's system messages as the session's own, so that something can be added to them."""
    first = session.turns[0]
    messages = first.prompt.messages()
    ends = next((at for at, one in enumerate(messages) if one["role"] not in _OPENING_ROLES), len(messages))
    opening, rest = tuple(messages[:ends]), written(messages[ends:])
    turns = (replace(first, prompt=rest), *session.turns[1:])
    return replace(session, opening=opening, opening_tokens=session.opening_tokens + tokens_in(opening), turns=turns)


def _with_line(message: Message, line: str) -> Message:
    content = message.get("content") or ""
    if isinstance(content, list):
        return {**message, "content": [*content, {"type": "text", "text": line}]}
    return {**message, "content": f"{content}\n{line}" if content else line}


def _is_schema(parameters: Mapping[str, Any]) -> bool:
    try:
        jsonschema_rs.validator_for(dict(parameters))
    except ValueError:
        return False
    return True
