"""What the load needs of a plan, wherever it comes from: the seam between workloads and those who send them.

Owns: the protocols. Does not own: the built-in planner's records (`plan`), those of files (`harness/live/workloads`).
Floor 5. Source: ours.

A planned session is a frozen dataclass, so that `dataclasses.replace` gives it another id, group, start or no parent.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import Field
from typing import Any, ClassVar, Protocol

from harness.load.workload.calls import Call, Tool
from harness.load.workload.plan import ForkPoint, Message
from results.records import SessionRecord, ToolSchema

TurnKey = tuple[int, int]
"""Session and turn."""


class PlannedTurn(Protocol):
    """expected: the only right call; None where nobody knows the answer. expected_word: of a task in plain text, a word
    that the right answer holds. think_ns: pause before the next turn.

    max_tokens: limit of this reply, below the run's; None: the run's. extra: further top-level fields of its request.
    waits_for: turns of other sessions that must have ended before it is sent.
    """

    @property
    def expected(self) -> Call | None: ...

    @property
    def expected_word(self) -> str | None: ...

    @property
    def think_ns(self) -> int: ...

    @property
    def max_tokens(self) -> int | None: ...

    @property
    def extra(self) -> Mapping[str, Any]: ...

    @property
    def waits_for(self) -> tuple[TurnKey, ...]: ...


class PlannedSession(Protocol):
    """One conversation: what each of its requests sends, when it begins, and what only it may know."""

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]

    @property
    def session(self) -> int: ...

    @property
    def group(self) -> int: ...

    @property
    def start_ns(self) -> int: ...

    @property
    def fork(self) -> ForkPoint | None: ...

    @property
    def tools(self) -> tuple[Tool, ...]: ...

    @property
    def secrets(self) -> tuple[str, ...]: ...

    @property
    def turns(self) -> Sequence[PlannedTurn]: ...

    def messages(self, turn: int) -> Sequence[Message]:
        """The whole conversation that the request of `turn` sends."""

    def prompt_tokens(self, turn: int) -> int:
        """About the length of that request, tools included."""

    def record(self) -> SessionRecord:
        """The session as the results keep it."""


class PlannedWorkload(Protocol):
    """The sessions of one round. left_out: what of a source was not used, by reason."""

    @property
    def sessions(self) -> Sequence[PlannedSession]: ...

    @property
    def left_out(self) -> Mapping[str, int]: ...

    def tool_schemas(self) -> tuple[ToolSchema, ...]:
        """The tools as the results keep them."""
