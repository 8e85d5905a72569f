"""Many comparisons, named before they are made.

Owns: Holm's adjustment over a plan of names. A comparison that was planned and could not be made still counts, so that
leaving one out never makes another look better; one that was not planned is refused. Floor 3.
Source: Holm, Scand. J. Statist. 6 (1979). statsmodels has it too, and is the reference of its test: it takes a second
to load and collects garbage on every call, too slow for a decision at every look.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kernels.errors import ConfigError

ALPHA = 0.05


class UnplannedComparison(ConfigError):
    """A comparison that was not named before the runs."""

    def __init__(self, name: str, planned: Sequence[str]) -> None:
        self.name = name
        super().__init__(f"comparison '{name}' was not planned", key="comparison", value=name, allowed=planned)


@dataclass(frozen=True, slots=True)
class Comparison:
    """p: None where it was planned and not made. p_adjusted: to hold against alpha, whatever the other names gave."""

    name: str
    p: float | None
    p_adjusted: float
    is_rejected: bool


def holm(planned: Sequence[str], p_values: Mapping[str, float | None], alpha: float = ALPHA) -> tuple[Comparison, ...]:
    """Adjust the p-values of a plan, in the plan's order. The chance of any false rejection stays below `alpha`.

    Raises: UnplannedComparison.
    """
    assert len(set(planned)) == len(planned), planned
    for name in p_values:
        if name not in planned:
            raise UnplannedComparison(name, planned)
    found = [1.0 if (p := p_values.get(name)) is None else p for name in planned]
    adjusted = [1.0] * len(found)
    most = 0.0
    for rank, at in enumerate(sorted(range(len(found)), key=found.__getitem__)):
        # Never below the one before it: a name is rejected only where all with smaller p-values are.
        most = max(most, min(1.0, (len(found) - rank) * found[at]))
        adjusted[at] = most
    return tuple(
        Comparison(name, p_values.get(name), p_adjusted, p_adjusted <= alpha)
        for name, p_adjusted in zip(planned, adjusted, strict=True)
    )
