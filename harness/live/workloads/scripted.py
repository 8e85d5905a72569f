"""Sessions whose requests stand in a file: what each one sends, and what is known of its answer.

Owns: the records, and how they become messages. Does not own: reading any format, numbering sessions (`rounds.py`).
Floor 5. Source: ours. As with the built-in workload, a history holds what the file says was answered, never what the
server answers now: all arms of a comparison send the same bytes.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from harness.load.workload.calls import Call, Tool
from harness.load.workload.plan import ForkPoint, Message
from harness.load.workload.planned import TurnKey
from results.oracles.marks import all_marks
from results.oracles.salad import broken_characters
from results.oracles.scripts import LATIN, scripts_of
from results.records import SessionRecord

CountTokens = Callable[[str], int]
_CHARACTERS_PER_TOKEN = 4
"""Of a foreign text. Counting with a tokenizer that is not the server's would be slower, and no truer."""


class Prompt(Protocol):
    """What one turn appends to its conversation. scripts, marks: as in `SessionRecord`."""

    @property
    def tokens(self) -> int: ...

    @property
    def scripts(self) -> frozenset[str]: ...

    @property
    def marks(self) -> frozenset[str]: ...

    def messages(self) -> Sequence[Message]: ...


@dataclass(frozen=True, slots=True)
class Written:
    """Messages as they stand in a file."""

    written: tuple[Message, ...]
    tokens: int
    scripts: frozenset[str]
    marks: frozenset[str]

    def messages(self) -> Sequence[Message]:
        return self.written


def written(messages: Sequence[Message]) -> Written:
    texts = [text for message in messages for text in texts_of(message)]
    return Written(
        tuple(messages),
        tokens_in(messages),
        frozenset((LATIN,)).union(*map(scripts_of, texts)),
        frozenset[str]().union(*map(all_marks, texts), *map(broken_characters, texts)),
    )


def texts_of(message: Message) -> list[str]:
    """Everything in a message that a model reads as text."""
    content, calls = message.get("content"), message.get("tool_calls") or ()
    parts = content if isinstance(content, list) else ()
    texts = [content] if isinstance(content, str) else [str(part.get("text") or "") for part in parts]
    return texts + [json.dumps(call.get("function"), ensure_ascii=False) for call in calls]


def about_tokens(characters: int) -> int:
    return -(-characters // _CHARACTERS_PER_TOKEN)


@dataclass(frozen=True, slots=True)
class Answer:
    """What a file says was answered. Never taken for the truth: the model may have been another one."""

    content: str
    calls: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class ScriptedTurn:
    """One request.

    prompt: what it appends, from the answer to the turn before on. restarts: it holds its whole context by itself, so
    nothing of the turns before it is sent. recorded: the file's answer, for comparison only. The other fields are those
    of `PlannedTurn`.
    """

    prompt: Prompt
    think_ns: int = 0
    expected: Call | None = None
    max_tokens: int | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)
    waits_for: tuple[TurnKey, ...] = ()
    restarts: bool = False
    recorded: Answer | None = None
    expected_word: str | None = None


@dataclass(frozen=True, slots=True)
class ScriptedSession:
    """One conversation of a file. opening: in front of everything, restarts included; `opening_tokens` has the tools.

    session, fork, waits_for: numbered as in the file until a round numbers them anew.
    """

    session: int
    turns: tuple[ScriptedTurn, ...]
    start_ns: int = 0
    group: int = 0
    opening: tuple[Message, ...] = ()
    opening_tokens: int = 0
    tools: tuple[Tool, ...] = ()
    secrets: tuple[str, ...] = ()
    fork: ForkPoint | None = None

    def messages(self, turn: int) -> list[Message]:
        """The whole conversation that the request of `turn` sends."""
        sent = (message for one in self._sent(turn) for message in one.prompt.messages())
        return [*self.opening, *sent]

    def prompt_tokens(self, turn: int) -> int:
        """About the length of that request, tools included."""
        return self.opening_tokens + sum(one.prompt.tokens for one in self._sent(turn))

    def _sent(self, turn: int) -> tuple[ScriptedTurn, ...]:
        """The turns up to this one that are still part of the conversation."""
        begin = next((at for at in range(turn, 0, -1) if self.turns[at].restarts), 0)
        return self.turns[begin : turn + 1]

    def record(self) -> SessionRecord:
        """The session as the results keep it."""
        opening = written(self.opening)
        prompts = [opening, *(turn.prompt for turn in self.turns)]
        return SessionRecord(
            session=self.session,
            group=self.group,
            turn_count=len(self.turns),
            secrets=self.secrets,
            forked_from=self.fork.parent if self.fork else None,
            scripts=tuple(sorted(frozenset[str]().union(*(prompt.scripts for prompt in prompts)))),
            marks=tuple(sorted(frozenset[str]().union(*(prompt.marks for prompt in prompts)))),
        )

    def __repr__(self) -> str:
        return f"ScriptedSession({self.session}, group {self.group}, {len(self.turns)} turns)"


def tools_tokens(tools: Sequence[Tool]) -> int:
    """About what they take in a prompt: their JSON text."""
    return about_tokens(sum(len(json.dumps(tool, ensure_ascii=False)) for tool in tools))


def tokens_in(messages: Sequence[Message]) -> int:
    return about_tokens(sum(len(text) for message in messages for text in texts_of(message)))
