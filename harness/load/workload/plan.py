"""What the sessions will do, fixed before the first request: sessions, turns, and the messages of each request.

Owns: the records of a workload and how they become OpenAI messages. Does not own: their making (`build`), the
sending of them. Floor 5.

The history of a turn holds the *expected* calls as the assistant's messages, whatever was really answered. So all
arms of a comparison send the same bytes, and a wrong reply is counted once instead of spoiling the turns after it.
Tool results are fixed as well, for the same reason.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from harness.load.workload.calls import Call, Tool
from results.oracles.scripts import scripts_of
from results.records import SessionRecord, ToolSchema

Message = dict[str, Any]

AskKind = Literal["own", "anchored", "inherited"]
"""What a turn asks for: a fact of the session's own first message, an anchored fact in a tool result, or (forks)
a fact of the parent's first message."""


@dataclass(frozen=True, slots=True)
class TurnPlan:
    """One request and what follows it.

    user: the message that this turn appends; in turn 0 the long private message with the question at its end.
    expected: the call that the reply must be. reference: as it stands in `user`, `((key))` or `((key|anchor))`.
    tool_result: appended after the reply; empty in the last turn, where nothing follows.
    think_ns: pause between the end of the reply and the next turn's request.
    *_tokens: counted when the plan was made, without the chat template's own tokens.
    max_tokens, extra, waits_for, expected_word: as in `planned.PlannedTurn`; our own turns need none of them.
    """

    call_id: str
    user: str
    kind: AskKind
    key: str
    anchor: str | None
    reference: str
    expected: Call
    tool_result: str
    think_ns: int
    user_tokens: int
    call_tokens: int
    result_tokens: int
    max_tokens: int | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)
    waits_for: tuple[tuple[int, int], ...] = ()
    expected_word: str | None = None

    def exchange(self) -> tuple[Message, Message, Message]:
        """The turn as history: question, expected call, tool result."""
        function = {"name": self.expected.name, "arguments": self.expected.arguments_text}
        call = {"id": self.call_id, "type": "function", "function": function}
        return (
            {"role": "user", "content": self.user},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": self.call_id, "content": self.tool_result},
        )


@dataclass(frozen=True, slots=True)
class ForkPoint:
    """Where a session's history comes from: the parent's turns [0, turn).

    The parent's request of turn `turn` has computed all of that history, so the fork should start `delay_ns` after
    that turn has ended. `SessionPlan.start_ns` estimates this moment; a generator that sees the parent can wait.
    """

    parent: int
    turn: int
    delay_ns: int


@dataclass(frozen=True, slots=True)
class SessionPlan:
    """One conversation. inherited: the parent's turns that a fork's history begins with; () in other sessions.

    secrets: all secret words that stand in the session's messages, a fork's parent's included. Any other
    session's word in a reply is cross-talk.
    """

    session: int
    group: int
    start_ns: int
    system: str
    tools: tuple[Tool, ...]
    inherited: tuple[TurnPlan, ...]
    turns: tuple[TurnPlan, ...]
    secrets: tuple[str, ...]
    fork: ForkPoint | None
    system_tokens: int

    def messages(self, turn: int) -> list[Message]:
        """The whole conversation that the request of `turn` sends, system message first."""
        past = (*self.inherited, *self.turns[:turn])
        exchanges = [message for done in past for message in done.exchange()]
        user: Message = {"role": "user", "content": self.turns[turn].user}
        return [{"role": "system", "content": self.system}, *exchanges, user]

    def prompt_tokens(self, turn: int) -> int:
        """About the length of that request, tools included."""
        past = (*self.inherited, *self.turns[:turn])
        history = sum(done.user_tokens + done.call_tokens + done.result_tokens for done in past)
        return self.system_tokens + history + self.turns[turn].user_tokens

    @property
    def private_tokens(self) -> int:
        """About what the session alone needs in a cache: neither the group's prefix nor the parent's history."""
        return sum(done.user_tokens + done.call_tokens + done.result_tokens for done in self.turns)

    def record(self) -> SessionRecord:
        """The session as the results keep it."""
        texts = {text for turn in (*self.inherited, *self.turns) for text in (turn.user, turn.tool_result)}
        return SessionRecord(
            session=self.session,
            group=self.group,
            turn_count=len(self.turns),
            secrets=self.secrets,
            forked_from=self.fork.parent if self.fork else None,
            scripts=tuple(sorted(set().union(*map(scripts_of, (self.system, *texts))))),
        )

    def __repr__(self) -> str:
        origin = f", fork of {self.fork.parent} at turn {self.fork.turn}" if self.fork else ""
        return f"SessionPlan({self.session}, group {self.group}, {len(self.turns)} turns{origin})"


@dataclass(frozen=True, slots=True)
class Group:
    """Sessions that share a system message and a list of tools. tokens: of both, about."""

    group: int
    system: str
    tools: tuple[Tool, ...]
    tokens: int


@dataclass(frozen=True, slots=True)
class Workload:
    """All sessions of a run, by session id. renames: tool name as sent -> name in the source, where they differ.

    left_out: how many items of a foreign source were not usable, by reason.
    """

    source: str
    seed: int
    sessions: tuple[SessionPlan, ...]
    groups: tuple[Group, ...]
    renames: Mapping[str, str]
    left_out: Mapping[str, int]

    @property
    def tools(self) -> tuple[Tool, ...]:
        """Every tool that some group uses, each name once."""
        by_name = {tool["function"]["name"]: tool for group in self.groups for tool in group.tools}
        return tuple(by_name.values())

    def tool_schemas(self) -> tuple[ToolSchema, ...]:
        """The tools as the results keep them, each with the groups that have it (() where all do)."""
        groups: dict[str, list[int]] = {}
        functions: dict[str, Mapping[str, Any]] = {}
        for group in self.groups:
            for tool in group.tools:
                text = json.dumps(tool, sort_keys=True)
                groups.setdefault(text, []).append(group.group)
                functions[text] = tool["function"]
        return tuple(
            ToolSchema(
                name=function["name"],
                description=function["description"],
                parameters=dict(function["parameters"]),
                groups=() if len(groups[text]) == len(self.groups) else tuple(groups[text]),
            )
            for text, function in functions.items()
        )

    @property
    def turn_count(self) -> int:
        return sum(len(session.turns) for session in self.sessions)

    @property
    def distinct_tokens(self) -> int:
        """About what a cache must hold to keep everything: each shared part counted once."""
        return sum(group.tokens for group in self.groups) + sum(plan.private_tokens for plan in self.sessions)

    def digest(self) -> str:
        """SHA-256 over all that is sent and expected: two runs with one digest had the same workload."""
        state = hashlib.sha256()
        for plan in self.sessions:
            state.update(f"{plan.session} {plan.group} {plan.start_ns} {plan.fork}\0{plan.system}\0".encode())
            for turn in plan.turns:
                text = f"{turn.user}\0{turn.expected.body}\0{turn.tool_result}\0{turn.think_ns}\0"
                state.update(text.encode())
        return state.hexdigest()

    def __repr__(self) -> str:
        forks = sum(plan.fork is not None for plan in self.sessions)
        return f"Workload({self.source}, seed {self.seed}, {len(self.sessions)} sessions ({forks} forks))"
