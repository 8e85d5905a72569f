"""The fewest toggles that still cure, where one alone does not.

Owns: delta debugging over a set. Does not own: what a cure is. Pure. Floor 5. Source: Zeller and Hildebrandt, TSE 2002.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence


def fewest(names: Sequence[str], cures: Callable[[tuple[str, ...]], bool]) -> tuple[str, ...]:
    """A part of `names` that cures and from which no single one can be left out; `names` as a whole must cure.

    cures: asked about parts, in the order of `names`; never twice about the same one.
    """
    answers: dict[tuple[str, ...], bool] = {tuple(names): True, (): False}

    def asked(part: tuple[str, ...]) -> bool:
        if part not in answers:
            answers[part] = cures(part)
        return answers[part]

    whole, pieces = tuple(names), 2
    while len(whole) > 1:
        cuts = [whole[len(whole) * i // pieces : len(whole) * (i + 1) // pieces] for i in range(pieces)]
        rests = [tuple(name for name in whole if name not in cut) for cut in cuts]
        found = next((part for part in (*cuts, *rests) if part != whole and asked(part)), None)
        if found is not None:
            pieces = 2 if found in cuts else max(pieces - 1, 2)
            whole = found
        elif pieces >= len(whole):
            break
        else:
            pieces = min(2 * pieces, len(whole))
    return whole
