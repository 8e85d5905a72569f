"""What a detector found, in the form in which the reference tells it.

Owns: the counting. Does not judge. Floor: tests. Source: ours.
"""

from __future__ import annotations

from collections import Counter

from kernels.races.detector.detector import Detector
from tests.races.reference_detector import RaceKey


def counted(detector: Detector) -> Counter[RaceKey]:
    """How many unordered pairs of accesses there are of each kind."""
    found: Counter[RaceKey] = Counter()
    for race in detector.races:
        sides = frozenset((side.operation.stream, side.is_write) for side in (race.first, race.second))
        found[race.buffer, race.layer, sides] += 1 + race.repeats
    return found
