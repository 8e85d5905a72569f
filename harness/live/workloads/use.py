"""What became of a workload from a file in a run: what was left out of it, how often it was begun anew, and how many
replies are those that the file has.

Owns: the counting and the words. Does not own: what a reply proves: a recorded answer is not the truth, the model may
have been another one. Floor 5. Source: ours.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from harness.live.workloads.formats import FileWorkload
from harness.live.workloads.scripted import Answer, ScriptedSession
from harness.load.workload.planned import PlannedSession, PlannedWorkload
from results.records import TurnRecord

_SHOWN: Final = 4


@dataclass(frozen=True, slots=True)
class WorkloadUse:
    """left_out: by reason. passes: how often the file was begun anew. recorded, same: replies that have a recorded
    answer, and those that say the same."""

    source: str = ""
    left_out: Mapping[str, int] = field(default_factory=dict)
    passes: int = 0
    recorded: int = 0
    same: int = 0

    def counters(self) -> dict[str, int | float]:
        """Those that a report can show; none of a built-in workload."""
        if not self.source:
            return {}
        told = {"workload_left_out": sum(self.left_out.values()), "workload_passes": self.passes}
        compared = {"recorded_answers": self.recorded, "recorded_answers_same": self.same}
        return {**told, **(compared if self.recorded else {})}


class UseCounter:
    """Told of each round and of each turn's end. files: None for the built-in workload, of which nothing is told."""

    def __init__(self, files: FileWorkload | None) -> None:
        self._files = files
        self._left_out: Mapping[str, int] = {}
        self._passes = 0
        self._recorded = self._same = 0

    def __repr__(self) -> str:
        return f"UseCounter({self.use})"

    @property
    def use(self) -> WorkloadUse:
        source = "" if self._files is None else self._files.words
        return WorkloadUse(source, self._left_out, self._passes, self._recorded, self._same)

    def more(self, workload: PlannedWorkload) -> None:
        if self._files is not None:
            self._left_out = dict(workload.left_out)
            self._passes = getattr(workload, "passes", 0)

    def ended(self, turn: TurnRecord, plan: PlannedSession) -> None:
        if not isinstance(plan, ScriptedSession) or turn.error is not None:
            return
        answer = plan.turns[turn.turn].recorded
        if answer is not None:
            self._recorded += 1
            self._same += _is_same(answer, turn)


def _is_same(answer: Answer, turn: TurnRecord) -> bool:
    calls = tuple((call.name, call.arguments) for call in turn.tool_calls)
    return answer.content.strip() == turn.content.strip() and answer.calls == calls


def notes_of(files: FileWorkload, left_out: Mapping[str, int]) -> list[str]:
    """In words, the most frequent first."""
    counts = sorted(((what, count) for what, count in left_out.items() if count), key=lambda pair: -pair[1])
    if not counts:
        return []
    shown = ", ".join(f"{count:,} x {what}" for what, count in counts[:_SHOWN])
    more = f" and {len(counts) - _SHOWN} more kinds" if len(counts) > _SHOWN else ""
    return [f"{files.words}: not used: {shown}{more}"]


def use_rows(use: WorkloadUse) -> list[tuple[str, str]]:
    """Lines of a run's screen."""
    rows = []
    if use.passes:
        times = "once" if use.passes == 1 else f"{use.passes} times"
        rows.append(("workload", f"{use.source} was begun anew {times}: all of its sessions had been sent"))
    if use.recorded:
        what = f"{use.same:,} of {use.recorded:,} replies say what the file has (a comparison, not a judgement)"
        rows.append(("recorded", what))
    return rows
