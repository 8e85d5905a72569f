"""The whole comparison of two names: each pair of sides, Holm over them, and one answer.

Owns: which sides belong together, and the answer with its exit code. Floor 3. Source: ours.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from enum import StrEnum

from results.comparison.comparable import refuse_incomparable
from results.comparison.contrast import Contrast, contrast
from results.comparison.errors import NotComparable
from results.comparison.sides import Named, Side
from results.stats.holm import holm

_STOPPED = (
    "--until decided stopped it by its data, so the interval and p of a fixed number of seeds claim too much here;"
    " its own report has those that hold"
)


class Answer(StrEnum):
    DIFFERENT = "different"
    NOT_SHOWN = "no difference shown"
    IDENTICAL = "identical"
    UNKNOWN = "unknown"

    @property
    def exit_code(self) -> int:
        return {Answer.DIFFERENT: 1, Answer.NOT_SHOWN: 0, Answer.IDENTICAL: 0, Answer.UNKNOWN: 4}[self]


@dataclass(frozen=True, slots=True)
class Comparison:
    """What came out. warnings: faults of what is stored, arms that only one side has, other source code."""

    first: str
    second: str
    answer: Answer
    reason: str
    contrasts: tuple[Contrast, ...]
    warnings: tuple[str, ...]

    def as_json(self) -> dict[str, object]:
        """Plain values, in a fixed order."""
        return asdict(self)


def compare(first: Named, second: Named, *, across_versions: bool = False) -> Comparison:
    """Compare two names. Raises: NotComparable with the difference named."""
    pairs, warnings = _pairs(first, second)
    for mine, theirs in pairs:
        refuse_incomparable(mine, theirs, across_versions=across_versions)
    contrasts = [contrast(mine, theirs, _name(mine, theirs)) for mine, theirs in pairs]
    adjusted = holm([one.name for one in contrasts], {one.name: one.p for one in contrasts})
    contrasts = [
        one if one.p is None else replace(one, p_holm=after.p_adjusted)
        for one, after in zip(contrasts, adjusted, strict=True)
    ]
    warnings += dict.fromkeys(f"{side.place}: {fault}" for pair in pairs for side in pair for fault in side.faults)
    sides = [side for pair in pairs for side in pair]
    warnings += dict.fromkeys(f"{side.place}: {_STOPPED}" for side in sides if side.is_stopped_by_data)
    warnings += dict.fromkeys(filter(None, (_other_source(mine, theirs) for mine, theirs in pairs)))
    answer, reason = _answer(contrasts, has_faults=any(side.faults for pair in pairs for side in pair))
    return Comparison(first.label, second.label, answer, reason, tuple(contrasts), tuple(warnings))


def _pairs(first: Named, second: Named) -> tuple[list[tuple[Side, Side]], list[str]]:
    """Sides that belong together, and which of a matrix have no partner."""
    if first.is_matrix != second.is_matrix:
        matrix, other = (first, second) if first.is_matrix else (second, first)
        arms = ", ".join(str(side.arm) for side in matrix.sides)
        why = f"{matrix.label} is a whole matrix, {other.label} is not; name one arm as {matrix.label}:ARM ({arms})"
        raise NotComparable(first.label, second.label, why)
    if not first.is_matrix:
        (mine,), (theirs,) = first.sides, second.sides
        if (mine.arm is None) != (theirs.arm is None):
            why = "one is a single run, the other an arm over many seeds; compare two runs, or two arms"
            raise NotComparable(first.label, second.label, why)
        return [(mine, theirs)], []
    left, right = ({side.arm: side for side in named.sides} for named in (first, second))
    pairs = [(side, right[arm]) for arm, side in left.items() if arm in right]
    if not pairs:
        raise NotComparable(first.label, second.label, "they have no arm in common; name one of each as FOLDER:ARM")
    alone = [side.label for arm, side in (left | right).items() if not (arm in left and arm in right)]
    return pairs, [f"{label} has no partner and is left out" for label in alone]


def _answer(contrasts: Sequence[Contrast], *, has_faults: bool) -> tuple[Answer, str]:
    shown = [one.name for one in contrasts if one.is_shown]
    if shown:
        assumed = any(one.assumption is not None for one in contrasts)
        how = " (if sessions of one run were independent, which they are not quite)" if assumed else ""
        return Answer.DIFFERENT, f"the rates of corrupted sessions differ: {', '.join(shown)}{how}"
    if has_faults:
        return Answer.UNKNOWN, "no difference was shown, but not everything that was stored could be read"
    if all(one.is_identical for one in contrasts):
        return Answer.IDENTICAL, "every run has the same digest: the outcomes are the same to the byte"
    weak = [one.name for one in contrasts if not one.can_show]
    if weak:
        return Answer.UNKNOWN, f"too few units to show any difference: {', '.join(weak)}"
    return Answer.NOT_SHOWN, "no difference of rates is shown at 5 %; the intervals say how large one may still be"


def _name(mine: Side, theirs: Side) -> str:
    if mine.arm is None:
        return "first run - second run"
    return mine.arm if mine.arm == theirs.arm else f"{mine.arm} - {theirs.arm}"


def _other_source(mine: Side, theirs: Side) -> str | None:
    if mine.source == theirs.source:
        return None
    return f"they were made by other states of the source code ({mine.source} and {theirs.source})"
