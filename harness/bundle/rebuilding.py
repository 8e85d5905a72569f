"""The messages of a stored run once more: a folder keeps replies, and its workload follows from spec, file and seed.

Owns: the one way from a run to its planned sessions, and the checks that they are those that were sent. Does not own:
the making of workloads. Floor 5. Source: ours.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import msgspec

from harness.config.schema import WorkloadSpec
from harness.live.arrivals import load_shape
from harness.live.rounds import RoundSource
from harness.live.tasks.rounds import TaskRounds
from harness.live.tasks.task import Task
from harness.live.workload import live_workload
from harness.live.workloads.asked import rounds_of
from harness.live.workloads.formats import BFCL, BUILTIN, file_workload
from harness.live.workloads.scripted import ScriptedSession, Written
from harness.load.workload.digest import requests_digest
from harness.load.workload.planned import PlannedSession
from kernels.errors import ConfigError
from results.reader import Run


@dataclass(frozen=True, slots=True)
class Rebuilt:
    """sessions: those that were asked for. checked: by what they are known to be the same, in words."""

    sessions: tuple[PlannedSession, ...]
    checked: str


def sessions_of(run: Run, wanted: Sequence[int]) -> Rebuilt:
    """The planned sessions with these numbers, in this order.

    Raises: ConfigError where the workload cannot be made again, or is not the one that the run sent.
    """
    rounds = _rounds(run)
    planned: dict[int, PlannedSession] = {}
    # In order, as sources ask for it.
    for number in range(max(wanted) // rounds.spec.sessions + 1):
        workload = rounds.build(number)
        planned |= {plan.session: plan for plan in workload.sessions}
        if number == 0 and run.manifest.workload_digest not in (None, requests_digest(workload.sessions)):
            raise _other_workload(run, "its texts are others")
    missing = [session for session in wanted if session not in planned]
    if missing:
        raise _other_workload(run, f"it has no session {missing[0]}")
    checked = _check(run, [planned[session] for session in wanted])
    return Rebuilt(tuple(planned[session] for session in wanted), checked)


def is_somebodys(plan: PlannedSession) -> bool:
    """Whether it has texts that are not ours. Whatever its file is called: a trace may hold messages, too."""
    return isinstance(plan, ScriptedSession) and any(isinstance(turn.prompt, Written) for turn in plan.turns)


def _source(run: Run) -> str:
    view = run.manifest.configuration.get("workload")
    return str(view.get("source", BUILTIN)) if isinstance(view, dict) else BUILTIN


def _rounds(run: Run) -> RoundSource:
    configuration, manifest = run.manifest.configuration, run.manifest
    try:
        view = dict(configuration["workload"])
        task = Task(configuration.get("task", Task.CALL))
        if _source(run) == BUILTIN or _source(run).startswith(f"{BFCL}:"):
            files, spec = None, msgspec.convert(view, WorkloadSpec)
            load = load_shape("closed", spec.sessions, None, None)
        else:
            files = file_workload(view["source"], plant=view["plant"], block_tokens=view.get("block_tokens"))
            assert files is not None, view
            files = replace(files, room_tokens=view.get("room_tokens"), first=view.get("first", 0))
            # Of all that a load is, only this says which sessions there are.
            load = load_shape("trace" if view.get("is_once") else "closed", view["sessions"], None, None)
            spec = live_workload(load, source=BUILTIN, prompt_tokens=None, overrides={})
    except (KeyError, TypeError, ValueError, msgspec.ValidationError) as error:
        what = f"'{run.path}' does not say how its workload was made in words that this version knows ({error})"
        raise ConfigError(what, key="run_dir", value=str(run.path)) from None
    return TaskRounds(rounds_of(files, spec, manifest.seed, load, manifest.max_tokens or 0), task)


def _check(run: Run, plans: Sequence[PlannedSession]) -> str:
    """Against everything that the folder knows of them. Raises: ConfigError."""
    records = {session.session: session for session in run.sessions}
    asked = {turn.key: (turn.expected, turn.expected_word) for turn in (*run.turns, *run.aside)}
    answers = 0
    for plan in plans:
        known, made = records.get(plan.session), plan.record()
        if known is not None and (known.secrets, known.turn_count) != (made.secrets, made.turn_count):
            raise _other_workload(run, f"session {plan.session} has other secret words or another length")
        for turn, planned in enumerate(plan.turns):
            expected = (None if planned.expected is None else planned.expected.record(), planned.expected_word)
            if asked.get((plan.session, turn), expected) != expected:
                raise _other_workload(run, f"session {plan.session} turn {turn} expects another answer")
            answers += (plan.session, turn) in asked
    by_digest = "the digest of all requests, and " if run.manifest.workload_digest is not None else ""
    return f"{by_digest}the secret words of {len(plans)} sessions and the expected answers of {answers} turns"


def _other_workload(run: Run, why: str) -> ConfigError:
    made_by = run.manifest.versions.get("kvrace", "an unknown version")
    what = (
        f"the workload of '{run.path}' cannot be made again: {why}; it was made by kvrace {made_by}"
        f" (revision {run.manifest.git_revision or 'unknown'})"
    )
    return ConfigError(what, key="run_dir", value=str(run.path))
