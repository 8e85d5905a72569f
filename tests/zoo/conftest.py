"""Each specimen is judged once, and several tests look at it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from harness.zoo.judge import Judged, judge
from scenarios.zoo.specimen import Specimen

SEED, FEW = 22811, 25

Judge = Callable[[Specimen], Judged]


@pytest.fixture(scope="session")
def judged() -> Judge:
    """A specimen, judged with few random schedules of its fix."""
    known: dict[str, Judged] = {}

    def once(specimen: Specimen) -> Judged:
        if specimen.name not in known:
            known[specimen.name] = judge(specimen, "auto", FEW, SEED)
        return known[specimen.name]

    return once
