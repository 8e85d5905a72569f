"""The built-in sessions with an easier task: the same long notes, another question, another right answer.

Owns: the questions. Does not own: the sessions (`harness/load/workload`). Pure. Floor 5. Source: ours.

A history holds the right answers, whatever was really answered, as that of the built-in task does. The words are the
session's own secrets: made up, so no model says one by chance, and known to be foreign in any other session.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from harness.live.tasks.task import Task
from harness.live.workloads.scripted import ScriptedSession, ScriptedTurn, tokens_in, written
from harness.load.workload import SessionPlan, TurnPlan, Workload
from harness.load.workload.plan import Message
from harness.load.workload.planned import PlannedSession, PlannedWorkload
from harness.load.workload.texts import RULES
from results.records import ToolSchema

_RULES_END: Final = RULES.splitlines()[-1]
_MANNERS: Final = "Each user keeps private notes. Answer in as few words as you can.\n"
_HEAD: Final = "The secret word of all these notes is {word}.\n"
_WORD: Final = "What is the secret word of all these notes? Answer with that word and with nothing else."
_REPEAT: Final = "Repeat this word and say nothing else: {word}"
_ANYTHING: Final = "Say in one sentence what these notes are about."
_ANYTHING_SAID: Final = "They are about the work of the desk."


@dataclass(frozen=True, slots=True)
class SpokenWorkload:
    """Sessions in plain text. left_out: as the source had it."""

    sessions: tuple[ScriptedSession, ...]
    left_out: Mapping[str, int]

    def tool_schemas(self) -> tuple[ToolSchema, ...]:
        return ()


def with_task(workload: Workload, task: Task) -> PlannedWorkload:
    if task.takes_tools:
        return replace(workload, sessions=tuple(named(plan) if task is Task.NAMED_CALL else plan
                                                for plan in workload.sessions))  # fmt: skip
    return SpokenWorkload(tuple(spoken(plan, task) for plan in workload.sessions), workload.left_out)


def named(plan: SessionPlan) -> SessionPlan:
    """Each turn names the tool that must be called; its arguments are still to be recalled."""
    return replace(plan, turns=tuple(replace(turn, extra=_choice(turn)) for turn in plan.turns))


def _choice(turn: TurnPlan) -> dict[str, Any]:
    return {"tool_choice": {"type": "function", "function": {"name": turn.expected.name}}}


def spoken(plan: SessionPlan, task: Task) -> ScriptedSession:
    """The session without tools."""
    system: Message = {"role": "system", "content": _system(plan.system)}
    past: list[Message] = []
    turns: list[ScriptedTurn] = []
    for number, turn in enumerate((*plan.inherited, *plan.turns)):
        word = _word(plan, number, task)
        head = _HEAD.format(word=word) if number == 0 and task is Task.WORD else ""
        past.append({"role": "user", "content": _user(turn, head, _question(task, word), past)})
        if number >= len(plan.inherited):
            turns.append(
                ScriptedTurn(written(past), think_ns=turn.think_ns, expected_word=None if task is Task.NONE else word)
            )
            past = []
        past.append({"role": "assistant", "content": _ANYTHING_SAID if task is Task.NONE else word})
        if turn.tool_result:
            # The next user message begins with it: there is no tool that could have said it.
            past.append({"role": "tool", "content": turn.tool_result})
    return ScriptedSession(
        session=plan.session, turns=tuple(turns), start_ns=plan.start_ns, group=plan.group, opening=(system,),
        opening_tokens=tokens_in([system]), secrets=plan.secrets, fork=plan.fork,
    )  # fmt: skip


def _system(text: str) -> str:
    """Its first line tells the groups apart, and its end is the filler that a group shares."""
    first, _, rest = text.partition("\n")
    return f"{first}\n{_MANNERS}{rest.partition(_RULES_END)[2].lstrip()}"


def _word(plan: SessionPlan, number: int, task: Task) -> str:
    """A secret of the first notes, which in a fork are its parent's."""
    notes = (*plan.inherited, *plan.turns)[0].user.lower()
    words = [secret for secret in plan.secrets if secret in notes] or list(plan.secrets)
    return words[number % len(words)] if task is Task.REPEAT else words[0]


def _user(turn: TurnPlan, head: str, question: str, past: list[Message]) -> str:
    """A result, notes and a question, as far as the turn has them. Effect: takes the result out of `past`."""
    notes = turn.user[: turn.user.rfind("\n") + 1]
    result = past.pop()["content"] if past and past[-1]["role"] == "tool" else ""
    return f"{result}{head}{notes}{question}"


def _question(task: Task, word: str) -> str:
    return {Task.WORD: _WORD, Task.REPEAT: _REPEAT.format(word=word)}.get(task, _ANYTHING)


def first_turns(workload: Workload, task: Task, count: int) -> Sequence[PlannedSession]:
    """Sessions of one turn, to try a task with: the last ones that are nobody's fork."""
    roots = [plan for plan in workload.sessions if plan.fork is None][-count:]
    short = replace(workload, sessions=tuple(replace(plan, turns=plan.turns[:1], start_ns=0) for plan in roots))
    return with_task(short, task).sessions
