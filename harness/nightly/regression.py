"""Tonight against the baseline: comparisons named beforehand, Holm over all of them.

Owns: their names, what counts as a regression, and when there is nothing to compare. Does not own: contrasts of arms
(`results.comparison`), absolute expectations (`checks`), the baseline itself (`folder`). Floor 5.
Source: paired permutation test over the seeds that both nights ran; for times, the exact rank-sum test by scipy.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import PurePath
from statistics import median

from scipy import stats

from harness.nightly.checks.speed import RATIOS
from harness.nightly.record import BaselineComparison, CheckResult, NightRecord, Status
from results.comparison.comparable import refuse_incomparable
from results.comparison.contrast import Contrast, contrast
from results.comparison.errors import NotComparable
from results.comparison.sides import Side, arm_side
from results.matrix.record import MatrixRecord
from results.stats.holm import ALPHA, holm

SPEED = "time of the main command"
TONIGHT, BEFORE = "tonight", "baseline"


def comparison_names(arms: Sequence[str], checks: Sequence[str]) -> tuple[str, ...]:
    """Every comparison of a night, known before it begins."""
    # An arm that is given by its file is called by the file's name.
    names = [f"rate of {PurePath(arm).stem if arm.endswith('.toml') else arm}" for arm in arms if "matrix" in checks]
    return (*names, *([SPEED] if "speed" in checks else []))


def compare_with(
    baseline: NightRecord, checks: Sequence[CheckResult], names: Sequence[str]
) -> list[BaselineComparison]:
    """All named comparisons; one that cannot be made is unknown, and weighs in Holm's correction all the same."""
    matrix = next((check.matrix for check in checks if check.matrix is not None), None)
    speed = next((check for check in checks if check.name == "speed"), None)
    made = [_speed(baseline, speed) if name == SPEED else _rate(name, baseline.matrix, matrix) for name in names]
    adjusted = holm(names, {one.name: one.p for one in made})
    return [_decided(one, after.p_adjusted) for one, after in zip(made, adjusted, strict=True)]


def _rate(name: str, before: MatrixRecord | None, now: MatrixRecord | None) -> BaselineComparison:
    mine, theirs = _side(now, name, TONIGHT), _side(before, name, BEFORE)
    if mine is None or theirs is None:
        place = "tonight" if mine is None else "in the baseline"
        return BaselineComparison(name, Status.UNKNOWN, f"it was not measured {place}")
    try:
        # A new version is what a night is for; its runs count as long as they answer the same questions.
        refuse_incomparable(mine, theirs, across_versions=True)
    except NotComparable as refusal:
        what = f"{refusal.why}; accept a new baseline"
        return BaselineComparison(name, Status.UNKNOWN, what)
    found = contrast(mine, theirs, name)
    return BaselineComparison(
        name,
        Status.UNKNOWN if found.p is None else Status.PASSED,
        _rate_sentence(found, mine),
        baseline=found.rate_second,
        tonight=found.rate_first,
        difference=found.difference,
        p=found.p,
    )


def _side(matrix: MatrixRecord | None, name: str, place: str) -> Side | None:
    if matrix is None:
        return None
    arm = next((arm for arm in matrix.arms if f"rate of {arm.scenario}" == name), None)
    return None if arm is None or arm.seeds == 0 else arm_side(matrix, arm, place)


def _rate_sentence(found: Contrast, mine: Side) -> str:
    if found.is_identical:
        return "the same to the byte"
    if found.difference is None:
        return found.method
    new_kinds = [kind.replace("_", " ") for kind in found.kinds_first if kind not in found.kinds_second]
    kinds = f", with kinds that are new: {', '.join(new_kinds)}" if new_kinds else ""
    differs = f"; the baseline ran with other settings: {', '.join(found.differs_in)}" if found.differs_in else ""
    return f"{100 * found.difference:+.1f} points over {found.count_first} seeds of {mine.arm}{kinds}{differs}"


def _speed(baseline: NightRecord, speed: CheckResult | None) -> BaselineComparison:
    before = baseline.check("speed")
    theirs = () if before is None else before.samples.get(RATIOS, ())
    mine = () if speed is None else speed.samples.get(RATIOS, ())
    if not (mine and theirs):
        return BaselineComparison(
            SPEED, Status.UNKNOWN, f"it was not measured {'tonight' if theirs else 'in the baseline'}"
        )
    assert before is not None and speed is not None
    if before.command != speed.command:
        what = f"the baseline timed another command: {before.command}; accept a new baseline"
        return BaselineComparison(SPEED, Status.UNKNOWN, what)
    p = float(stats.mannwhitneyu(mine, theirs, alternative="greater", method="exact").pvalue)
    # The baseline's own repeats say how much the ratio varies when nothing has changed.
    is_beyond = median(mine) > max(theirs)
    band = f"the baseline's {len(theirs)} runs took {min(theirs):.1f} to {max(theirs):.1f} yardsticks"
    sentence = f"{median(mine):.1f} yardsticks tonight, {'beyond' if is_beyond else 'within'} the noise: {band}"
    return BaselineComparison(
        SPEED,
        Status.PASSED,
        sentence,
        baseline=median(theirs),
        tonight=median(mine),
        difference=median(mine) - median(theirs),
        p=p if is_beyond else 1.0,
    )


def _decided(one: BaselineComparison, p_holm: float) -> BaselineComparison:
    if one.p is None:
        return one
    if p_holm > ALPHA:
        return replace(one, p_holm=p_holm)
    assert one.difference is not None
    if one.name == SPEED:
        what = "slower than the baseline"
    else:
        what = "corrupts more than the baseline" if one.difference > 0 else "corrupts less than the baseline"
    return replace(one, p_holm=p_holm, status=Status.REGRESSION, sentence=f"{what}: {one.sentence}")
