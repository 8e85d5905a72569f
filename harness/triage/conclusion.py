"""What the arms of a triage come to: the effect of each toggle, and which race classes that speaks for.

Owns: the rules from rates to words. Does not own: rates and tests (`results/stats`, in the matrix record). Pure.
Floor 5. Source: facts/bugs.md sections 1 and 5. A toggle that cures is a hint at a path, no proof of a cause: it may as
well have changed the timing alone. `run.py race` and `prove` name a cause.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from harness.triage.plan import AGAIN, ALL, Toggle
from results.matrix.record import MatrixArm, MatrixRecord, NamedComparison
from results.verdict import RunVerdict
from scenarios.zoo.specimen import RaceClass

_HINTED = 4


class Effect(StrEnum):
    """What a toggle did to the rate of corrupted sessions."""

    CURES = "cures"
    CLEAN = "clean, but too few blocks"
    LOWERS = "lowers"
    STAYS = "no cure"
    RAISES = "raises"
    UNKNOWN = "unknown"
    NOT_RUN = "not run"


@dataclass(frozen=True, slots=True)
class ArmOutcome:
    """One arm. toggles: by name. detail: in words."""

    name: str
    toggles: tuple[str, ...]
    effect: Effect
    detail: str


@dataclass(frozen=True, slots=True)
class ClassEvidence:
    """A race class. by: toggles whose cure speaks for it. against: toggles that touch its path and do not cure."""

    race_class: RaceClass
    by: tuple[str, ...]
    against: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Conclusion:
    """sentence: the whole in one. cure: the fewest toggles that cure together; () where none was found.

    drift: what the base did when it was run once more, where that puts the rest in doubt.
    """

    outcomes: tuple[ArmOutcome, ...]
    cure: tuple[str, ...]
    classes: tuple[ClassEvidence, ...]
    drift: str | None
    sentence: str


def are_judged(judged: int, begun: int) -> bool:
    """Whether enough sessions of an arm were judged for its rate to mean anything: half of those that it began."""
    return judged > 0 and 2 * judged >= begun


def outcome_of(name: str, toggles: Sequence[str], record: MatrixRecord, failures: Mapping[str, str]) -> ArmOutcome:
    """The effect of one arm, seen beside the base."""

    def outcome(effect: Effect, detail: str) -> ArmOutcome:
        return ArmOutcome(name, tuple(toggles), effect, detail)

    if name in failures:
        return outcome(Effect.NOT_RUN, failures[name])
    arm = next((one for one in record.arms if one.scenario == name), None)
    if arm is None or not arm.seeds:
        return outcome(Effect.NOT_RUN, "not run")
    against = next((one for one in record.comparisons if one.first == name), None)
    rate = f"{arm.sessions_corrupted:,} of {arm.sessions_judged:,} sessions in {arm.seeds} blocks"
    if not are_judged(arm.sessions_judged, arm.sessions):
        # Not the arm's verdict: that a toggle leaves the path unused is what it is for.
        return outcome(Effect.UNKNOWN, f"{rate}, fewer than half of those it began: {arm.verdict_reason}")
    return outcome(_effect(arm, against), rate + _tested(against))


def _effect(arm: MatrixArm, against: NamedComparison | None) -> Effect:
    is_decided = against is not None and bool(against.decided)
    if not arm.sessions_corrupted:
        return Effect.CURES if is_decided else Effect.CLEAN
    if against is None or against.difference is None or not is_decided:
        return Effect.STAYS
    return Effect.LOWERS if against.difference < 0 else Effect.RAISES


def _tested(against: NamedComparison | None) -> str:
    if against is None or against.p_holm is None:
        return ""
    return f" (p {against.p_holm:.2g} after Holm)"


def conclude(
    toggles: Sequence[Toggle], outcomes: Sequence[ArmOutcome], *, base: MatrixArm | None, fewest: tuple[str, ...],
    is_interrupted: bool,
) -> Conclusion:  # fmt: skip
    """Put the arms together.

    Args:
        base: the arm without any toggle; None where it was not run.
        fewest: the toggles that were left when no further one could be left out; () where nobody looked for them.
        is_interrupted: the user ended it; what was not run says nothing.
    """
    alone = [one.name for one in outcomes if one.effect is Effect.CURES and len(one.toggles) == 1]
    together = next((one for one in outcomes if len(one.toggles) > 1 and set(one.toggles) == set(fewest)), None)
    cure = tuple(alone)
    if not alone and together is not None and together.effect is Effect.CURES:
        cure = fewest
    singles = {one.name: one.effect for one in outcomes}
    classes = _classes(
        [toggle for toggle in toggles if toggle.name in cure],
        [toggle for toggle in toggles if singles.get(toggle.name) in _NO_CURE and not toggle.shifts],
    )
    drift = _drift(next((one for one in outcomes if one.name == AGAIN), None), base)
    sentence = _sentence(base, outcomes, cure=cure, is_alone=bool(alone), classes=classes)
    if is_interrupted:
        sentence = _interrupted(toggles, outcomes, sentence if cure else None)
    return Conclusion(tuple(outcomes), cure, classes, drift, sentence)


_NO_CURE = (Effect.STAYS, Effect.LOWERS, Effect.RAISES)


def _classes(curing: Sequence[Toggle], others: Sequence[Toggle]) -> tuple[ClassEvidence, ...]:
    found = [
        ClassEvidence(
            race_class,
            tuple(toggle.name for toggle in curing if race_class in toggle.implicates),
            tuple(toggle.name for toggle in others if race_class in toggle.implicates),
        )
        for race_class in RaceClass
    ]
    # Python's sort keeps the taxonomy's order among equals.
    return tuple(sorted((one for one in found if one.by), key=_weight))


def _weight(evidence: ClassEvidence) -> tuple[int, int]:
    """Least of it is best: little that speaks against, then much that speaks for."""
    return len(evidence.against), -len(evidence.by)


def _drift(again: ArmOutcome | None, base: MatrixArm | None) -> str | None:
    if again is None or base is None or not base.sessions_corrupted:
        return None
    if again.effect in (Effect.CURES, Effect.CLEAN):
        return f"the base itself is clean when it is run once more ({again.detail}): no cure above can be trusted"
    if again.effect in (Effect.LOWERS, Effect.RAISES):
        return f"the base's own rate has moved ({again.detail}): compare rates with care"
    return None


def _sentence(
    base: MatrixArm | None,
    outcomes: Sequence[ArmOutcome],
    *,
    cure: Sequence[str],
    is_alone: bool,
    classes: Sequence[ClassEvidence],
) -> str:
    if base is None or base.verdict is RunVerdict.UNKNOWN:
        return "nothing can be said: the base could not be judged"
    if not base.sessions_corrupted:
        return f"nothing to triage: the base is clean in {base.sessions_judged:,} sessions"
    hint = _hint(classes)
    if cure and is_alone:
        each = "by itself" if len(cure) == 1 else "each by itself"
        return f"{', '.join(cure)}, {each}, makes the corruption go away{hint}"
    if cure:
        return f"no toggle cures alone; {' and '.join(cure)} together do{hint}"
    clean = [one.name for one in outcomes if one.effect is Effect.CLEAN and one.name not in (AGAIN, ALL)]
    if clean:
        return f"{', '.join(clean)}: clean, in too few blocks to call it a cure; take more stress.blocks"
    everything = next((one for one in outcomes if one.name == ALL), None)
    if everything is not None and everything.effect in _NO_CURE:
        return "the corruption stays with every toggle on: its cause lies outside of them"
    return "no toggle makes the corruption go away"


def _interrupted(toggles: Sequence[Toggle], outcomes: Sequence[ArmOutcome], found: str | None) -> str:
    """found: what was found until then, where it is a cure."""
    run = {name for one in outcomes for name in one.toggles if one.effect is not Effect.NOT_RUN}
    left = [toggle.name for toggle in toggles if toggle.name not in run]
    what = f"{', '.join(left)} {'was' if len(left) == 1 else 'were'} not run" if left else "the last arm is not whole"
    return f"interrupted: {what}" + ("" if found is None else f"; until then: {found}")


def _hint(classes: Sequence[ClassEvidence]) -> str:
    """The classes that most speaks for and least against."""
    if not classes:
        return ""
    best = [one.race_class for one in classes if _weight(one) == _weight(classes[0])]
    return f"; look first at {', '.join(best[:_HINTED])}"
