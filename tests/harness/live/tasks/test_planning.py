"""Easier tasks over the same notes: what is asked, what is right, and what only the session may know."""

from __future__ import annotations

import pytest

from harness.live.arrivals import load_shape
from harness.live.tasks.planning import first_turns, with_task
from harness.live.tasks.task import Task
from harness.live.workload import live_workload
from harness.load.workload import Workload, build_workload
from kernels.engine.shared import SharedModel
from tests.harness.live.live_requests import SEED


@pytest.fixture(scope="module")
def workload() -> Workload:
    spec = live_workload(load_shape("closed", 12, None, None), source="builtin", prompt_tokens=1_800, overrides={})
    return build_workload(spec, SEED, SharedModel().reader.count_tokens)


def texts(messages: object) -> list[str]:
    assert isinstance(messages, list)
    return [message["content"] or "" for message in messages]


def test_the_hardest_task_is_the_workload_itself(workload: Workload) -> None:
    assert with_task(workload, Task.CALL) == workload


def test_named_calls_name_the_right_tool_and_nothing_else_changes(workload: Workload) -> None:
    for before, after in zip(workload.sessions, with_task(workload, Task.NAMED_CALL).sessions, strict=True):
        for turn, planned in enumerate(after.turns):
            assert planned.expected is not None
            assert planned.extra == {
                "tool_choice": {"type": "function", "function": {"name": planned.expected.name}}
            }  # fmt: skip
            assert after.messages(turn) == before.messages(turn)


@pytest.mark.parametrize("task", [Task.WORD, Task.REPEAT, Task.NONE])
def test_spoken_tasks_keep_notes_results_and_times(workload: Workload, task: Task) -> None:
    asked = with_task(workload, task)
    assert asked.tool_schemas() == ()
    assert any(plan.fork for plan in workload.sessions)
    for before, after in zip(workload.sessions, asked.sessions, strict=True):
        assert (before.session, before.group, before.start_ns, before.fork) == (
            after.session, after.group, after.start_ns, after.fork,
        )  # fmt: skip
        assert (after.tools, after.secrets) == ((), before.secrets)
        last = len(before.turns) - 1
        told = "\n".join(texts(after.messages(last)))
        for turn in (*before.inherited, *before.turns):
            assert turn.user.rpartition("\n")[0] in told
            assert turn.tool_result in told
        assert "((" not in texts(after.messages(last))[-1]
        roles = [message["role"] for message in after.messages(last)]
        assert roles == ["system", *["user", "assistant"] * (len(before.inherited) + last), "user"]
        assert [turn.think_ns for turn in after.turns] == [turn.think_ns for turn in before.turns]
        # The whole history is sent again each time, so that a cache has something to come back to.
        assert texts(after.messages(last))[: 2 + 2 * len(before.inherited)] == texts(after.messages(0))


def test_words_are_the_sessions_own_and_stand_where_the_task_says(workload: Workload) -> None:
    owners = {secret: plan.session for plan in workload.sessions if plan.fork is None for secret in plan.secrets[:3]}
    for plan in with_task(workload, Task.WORD).sessions:
        for turn, planned in enumerate(plan.turns):
            *before, question = texts(plan.messages(turn))
            assert planned.expected is None
            assert planned.expected_word in plan.secrets
            assert planned.expected_word not in question.rpartition("\n")[2]
            assert any(f"The secret word of all these notes is {planned.expected_word}." in text
                       for text in (*before, question))  # fmt: skip
            assert sum("secret word of all these notes is" in text for text in (*before, question)) == 1
    for plan in with_task(workload, Task.REPEAT).sessions:
        for turn, planned in enumerate(plan.turns):
            assert planned.expected_word in plan.secrets
            assert texts(plan.messages(turn))[-1].endswith(f": {planned.expected_word}")
        if plan.fork is None:
            assert {owners[str(turn.expected_word)] for turn in plan.turns} == {plan.session}


def test_nothing_is_expected_where_nothing_is_known(workload: Workload) -> None:
    for plan in with_task(workload, Task.NONE).sessions:
        assert {(turn.expected, turn.expected_word) for turn in plan.turns} == {(None, None)}


def test_first_turns_are_those_of_sessions_that_wait_for_nobody(workload: Workload) -> None:
    found = first_turns(workload, Task.WORD, 3)
    roots = [plan.session for plan in workload.sessions if plan.fork is None]
    assert [plan.session for plan in found] == roots[-3:]
    assert all(len(plan.turns) == 1 and plan.start_ns == 0 for plan in found)
    whole = {plan.session: plan for plan in with_task(workload, Task.WORD).sessions}
    assert all(plan.messages(0) == whole[plan.session].messages(0) for plan in found)
