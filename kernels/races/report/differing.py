"""The difference between a failing order and the nearest passing one, in words.

Owns: the lines that text, JSON and HTML share. Does not own: finding the difference (search). Floor 2b.
"""

from __future__ import annotations

from typing import NamedTuple

from kernels.races.detector.race import Race
from kernels.races.report.phrases import counted, spans
from kernels.races.search.difference import OrderDifference, StaleSight
from kernels.substrate.trace import Operation

PAIRS_SHOWN = 3


class DifferenceWords(NamedTuple):
    """head: how much differs. passing, failing: one line a pair, in one order. sees: one line a stale range."""

    head: str
    passing: tuple[str, ...]
    failing: tuple[str, ...]
    more: str
    sees: tuple[str, ...]


def difference_words(difference: OrderDifference, race: Race) -> DifferenceWords:
    """The racing pair first."""
    own = (race.first.operation.ordinal, race.second.operation.ordinal)
    pairs = sorted(difference.turned, key=lambda pair: (pair.first.ordinal, pair.second.ordinal) != own)
    shown, left = pairs[:PAIRS_SHOWN], len(pairs) - PAIRS_SHOWN
    return DifferenceWords(
        f"from the nearest order that passes in {counted(len(pairs), 'pair')} of conflicting operations",
        tuple(_in_words(pair.first_passing, pair.second_passing) for pair in shown),
        tuple(_in_words(pair.first, pair.second) for pair in shown),
        f"and {counted(left, 'pair')} more" if left > 0 else "",
        tuple(_sights(difference.sights)),
    )


def _in_words(one: Operation, two: Operation) -> str:
    if two.start_ns < one.start_ns:
        one, two = two, one
    first, second = f"#{one.ordinal} {one.label}", f"#{two.ordinal} {two.label}"
    if one.end_ns < two.start_ns:
        return f"{first} ends at step {one.end_ns}, then {second} begins at step {two.start_ns}"
    return f"{first} runs from step {one.start_ns} to {one.end_ns}, and inside it {second} begins at {two.start_ns}"


def _sights(sights: tuple[StaleSight, ...]) -> list[str]:
    """One line for the pages that one operation saw alike."""
    folded: dict[tuple[Operation, str, int, str], list[int]] = {}
    ordinals: dict[int, Operation] = {}
    for sight in sights:
        operation = ordinals.setdefault(sight.operation.ordinal, sight.operation)
        folded.setdefault((operation, sight.buffer, sight.layer, _seen(sight)), []).append(sight.page)
    return [
        f"#{operation.ordinal} {operation.label} sees {buffer}[layer {layer}] "
        f"page{'s' if len(pages) > 1 else ''} {spans(pages)}: {seen}"
        for (operation, buffer, layer, seen), pages in folded.items()
    ]


def _seen(sight: StaleSight) -> str:
    front, back = _version(sight.front), _version(sight.back)
    what = front if front == back else f"torn, {front} in front and {back} behind"
    promised = f"version {sight.promised}" if sight.promised else "what its source held from the start"
    return f"{what}, promised {promised}"


def _version(number: int) -> str:
    return f"version {number}" if number else "what it held from the start"
