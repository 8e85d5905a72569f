"""What must be said beside the rates: why an arm could not be judged, what a zero leaves open, how intervals were made.

Owns: the sentences, and saying one that several arms share only once. Floor 3. Source: ours.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from results.report.parts import ArmPart
from results.report.words import kind_words, plural
from results.verdict import RunVerdict


def remarks(arms: Iterable[ArmPart]) -> list[tuple[str, str]]:
    """Names of arms, and a sentence about them: what could not be judged first, how it was counted last."""
    names: dict[tuple[int, str], list[str]] = defaultdict(list)
    for arm in arms:
        for place, sentence in enumerate(_of(arm)):
            if sentence:
                names[place, sentence].append(arm.name)
    return [(", ".join(names[key]), f"{key[1]}.") for key in sorted(names, key=lambda key: key[0])]


def _of(arm: ArmPart) -> tuple[str | None, ...]:
    is_judged = arm.verdict in (RunVerdict.CLEAN, RunVerdict.CORRUPT)
    kinds = ", ".join(f"{count:,} {kind_words(kind)}" for kind, count in arm.unknown_kinds.items())
    unknown = f"{plural(arm.turns_unknown, 'turn')} could not be judged: {kinds}"
    by_text = f"{plural(arm.turns_by_text, 'turn')} had no known answer and could only be judged by the text"
    method = f"interval by {arm.sessions.method}; the unit is the {arm.unit}"
    return (
        None if is_judged else arm.verdict_reason,
        unknown if arm.turns_unknown else None,
        by_text if arm.turns_by_text else None,
        arm.sessions.open_words,
        arm.caveat,
        None if arm.sessions.rate is None else method,
    )
