"""Stopping a matrix as soon as its answer is sure.

Owns: which seeds count at a look, the groups of arms with one control, and how a look is stored. Does not own: the
test, which is valid at every look (`results.stats.sequential`), running (`campaign`). Floor 5.
Source: a look sees the first seeds of the plan in its order, as far as all arms have them. Seeds that end early are
often the clean ones, so taking whichever seed is there would lean the answer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from harness.search.job import Job
from harness.search.matrix import MatrixPlan
from harness.search.record import RunRecord
from kernels.errors import ConfigError
from results.matrix.record import MatrixArm, NamedComparison, SequentialState
from results.records import JsonObject
from results.report.words import plural
from results.stats.holm import ALPHA
from results.stats.intervals import Interval
from results.stats.sequential import ArmCounts, ArmLook, ArmVerdict, Look, Sequential
from results.stats.zero import bound_percent

METHOD = "e-process over seeds against the arm's own control; Holm over arms, and one control's share of the error each"

AT_ANY_LOOK = "confidence sequence of the mean over seeds, valid at every look"


class Decider:
    """Looks at a matrix while it runs. `is_enough` may be asked after every run; it looks once a whole seed."""

    def __init__(self, plan: MatrixPlan) -> None:
        """Raises: ConfigError where no arm has a control."""
        self._plan = plan
        self._groups = _groups(plan)
        # Each control has a test of its own; together they may be wrong as often as one.
        level = 1 - ALPHA / len(self._groups)
        self._tests = [Sequential(control, arms, level=level) for control, arms in self._groups.items()]
        self._looks: list[Look] = []
        self._seen = -1

    def __repr__(self) -> str:
        return f"Decider({self._groups}, {max(0, self._seen)} seeds seen)"

    def is_enough(self, records: Mapping[str, RunRecord]) -> bool:
        """Whether every arm's answer is sure."""
        seeds = whole_seeds(self._plan, records)
        if len(seeds) != self._seen:
            self._seen = len(seeds)
            self._looks = [self._look(test, seeds, records) for test in self._tests]
        return all(look.decided for look in self._looks)

    def state(self, records: Mapping[str, RunRecord]) -> SequentialState:
        """How it stands, as it is stored."""
        is_decided = self.is_enough(records)
        return SequentialState(
            method=METHOD,
            is_decided=is_decided,
            reason="; ".join(look.sentence for look in self._looks),
            seeds_used=self._seen,
            seeds_max=len(self._plan.seeds),
            claims=tuple(_claim(test.control, look, arm) for test, look in self._pairs() for arm in look.arms),
        )

    def with_figures(
        self, arms: Sequence[MatrixArm], comparisons: Sequence[NamedComparison]
    ) -> tuple[tuple[MatrixArm, ...], tuple[NamedComparison, ...]]:
        """The same arms and comparisons, with the figures that hold at whichever seed it stopped.

        Those of a fixed number of seeds do not hold then: who stops when it looks good finds too much. A comparison
        that was not tested at every look has none.
        """
        rates = {test.control: look.control for test, look in self._pairs()}
        found = {(look_arm.arm, test.control): look_arm for test, look in self._pairs() for look_arm in look.arms}
        rates |= {arm: look_arm.rate for (arm, _), look_arm in found.items()}
        return (
            tuple(_arm(arm, rates.get(arm.scenario), found.get((arm.scenario, arm.control or ""))) for arm in arms),
            tuple(_comparison(one, found.get((one.first, one.second))) for one in comparisons),
        )

    def _pairs(self) -> list[tuple[Sequential, Look]]:
        return list(zip(self._tests, self._looks, strict=True))

    def _look(self, test: Sequential, seeds: Sequence[int], records: Mapping[str, RunRecord]) -> Look:
        names = (test.control, *test.arms)
        return test.look(
            [{name: _counts(records[Job(self._plan.arms[name], seed).key]) for name in names} for seed in seeds]
        )


def whole_seeds(plan: MatrixPlan, records: Mapping[str, RunRecord]) -> list[int]:
    """The first seeds of the plan, as far as every arm has run with them."""
    seeds = []
    for seed in plan.seeds:
        if not all(Job(arm, seed).key in records for arm in plan.arms.values()):
            break
        seeds.append(seed)
    return seeds


def _groups(plan: MatrixPlan) -> dict[str, tuple[str, ...]]:
    controls = dict.fromkeys(control for control in plan.controls.values() if control is not None)
    if not controls:
        what = "--until decided needs a control, an arm that differs from another in HiCache alone, and there is none"
        raise ConfigError(f"{what}; add one, for example off_bf16", key="--until", value="decided")
    return {name: tuple(arm for arm, control in plan.controls.items() if control == name) for name in controls}


def _counts(record: RunRecord) -> ArmCounts:
    return ArmCounts(record.sessions_corrupted, record.sessions_judged)


def _arm(arm: MatrixArm, rate: Interval | None, look: ArmLook | None) -> MatrixArm:
    tested = replace(
        arm,
        session_ci95=None,
        ci_method="not looked at",
        rate_bound=None,
        session_bound=None,
        zero=None,
        p_vs_control=None if look is None else look.p,
        p_vs_control_holm=None if look is None else look.p_adjusted,
    )
    if rate is None or rate.unit_count == 0:
        return tested
    tested = replace(tested, session_ci95=(rate.low, rate.high), ci_method=AT_ANY_LOOK)
    if arm.zero is None:
        return tested
    units = f"0 of {plural(arm.sessions_judged, 'session')} of {plural(arm.seeds_judged, 'seed')}"
    sentence = f"{units} leave rates up to {bound_percent(rate.high)} open, at whichever seed it stopped"
    return replace(tested, rate_bound=rate.high, zero=sentence)


def _comparison(one: NamedComparison, look: ArmLook | None) -> NamedComparison:
    if look is None:
        reason = "not tested at every look, so a stop that depends on the data leaves it without p; run --until all"
        return replace(one, ci95=None, p=None, p_holm=None, smallest_p=None, decided=None, reason=reason)
    return replace(
        one,
        difference=look.difference.estimate,
        ci95=(look.difference.low, look.difference.high),
        p=look.p,
        p_holm=look.p_adjusted,
        smallest_p=None,
        decided=look.verdict is not ArmVerdict.UNDECIDED,
        reason=look.sentence,
    )


def _claim(control: str, look: Look, arm: ArmLook) -> JsonObject:
    return {
        "arm": arm.arm,
        "control": control,
        "control_rate": look.control.estimate,
        "control_ci": [look.control.low, look.control.high],
        "verdict": str(arm.verdict),
        "rate": arm.rate.estimate,
        "ci": [arm.rate.low, arm.rate.high],
        "difference": arm.difference.estimate,
        "difference_ci": [arm.difference.low, arm.difference.high],
        "p": arm.p,
        "p_adjusted": arm.p_adjusted,
        "seeds_used": arm.seeds_used,
        "sentence": arm.sentence,
    }
