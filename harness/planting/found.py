"""What a judge made of the turns that were damaged, and of those that were not.

Owns: when a planted fault counts as found, and as rightly called. Does not own: judging (`results/oracles`). Pure.
Floor 5. Source: ours.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from harness.planting.faults import FAULTS, Fault
from harness.planting.truth import Planted
from results.findings import Judgement


@dataclass(slots=True)
class FaultFound:
    """One fault. planted: turns that are in the run. found, right: of them. called: what they were called.

    A corruption is found where the turn is judged corrupted, and right where its kind is one of the fault's. What is no
    corruption is found, and right, where it is told by its name and the turn is not called corrupted. Nothing of a
    quiet fault can be found in one turn.
    """

    fault: Fault
    planted: int = 0
    found: int = 0
    right: int = 0
    called: Counter[str] = field(default_factory=Counter)


@dataclass(frozen=True, slots=True)
class Comparison:
    """alarms: turns that are called corrupted although nothing was planted there. absent: planted, not in the run."""

    faults: Mapping[str, FaultFound]
    alarms: tuple[Judgement, ...]
    turns: int
    absent: int

    @property
    def missed(self) -> int:
        """Planted turns that should have been found and were not."""
        return sum(one.planted - one.found for one in self.faults.values() if one.fault.kinds)

    def as_json(self) -> dict[str, Any]:
        return {
            "turns": self.turns,
            "planted": sum(one.planted for one in self.faults.values()),
            "missed": self.missed,
            "absent": self.absent,
            "false_alarms": len(self.alarms),
            "faults": {
                name: {"symptom": one.fault.symptom, "planted": one.planted, "found": one.found, "right": one.right,
                       "called": dict(one.called.most_common())}
                for name, one in self.faults.items()
            },
        }  # fmt: skip


def compare(planted: Iterable[Planted], judged: Sequence[tuple[str, Judgement]]) -> Comparison:
    """judged: (request id, judgement) of every turn of the run. What was planted when a turn was asked again is left
    out: it is in no turn of the load."""
    truth = {one.request_id: one for one in planted if one.nth == 1}
    faults: dict[str, FaultFound] = {}
    alarms: list[Judgement] = []
    seen: set[str] = set()
    for request_id, judgement in judged:
        one = truth.get(request_id)
        if one is not None:
            seen.add(request_id)
            fault = FAULTS[one.fault]
            _count(faults.setdefault(fault.name, FaultFound(fault)), judgement)
        elif judgement.is_corrupted:
            alarms.append(judgement)
    ordered = {name: faults[name] for name in FAULTS if name in faults}
    return Comparison(ordered, tuple(alarms), len(judged), len(truth.keys() - seen))


def _count(row: FaultFound, judgement: Judgement) -> None:
    fault = row.fault
    told = {finding.kind for finding in judgement.findings} & set(fault.kinds)
    is_told = bool(told) and not judgement.is_corrupted
    row.planted += 1
    row.found += judgement.is_corrupted if fault.is_corruption else is_told
    row.right += judgement.kind in fault.kinds if fault.is_corruption else is_told
    row.called[str(judgement.kind or judgement.verdict)] += 1
