"""A sweep: scenarios times values of one axis times seeds, one row for each scenario and value.

Owns: which jobs a sweep needs, and its rows. Does not own: running (`campaign`), files (`sweep_files`). Floor 5.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from harness.search.axes import Axis, AxisPoint
from harness.search.campaign import Records
from harness.search.job import Arm, Job, jobs_of, load_arm
from harness.search.statistics import SeedStatistics, seed_statistics
from kernels.errors import ConfigError

SERIES_MAX = 7
"""Lines that one figure can show so that they can be told apart."""


@dataclass(frozen=True, slots=True)
class SweepCell:
    """One value on one scenario."""

    scenario: str
    point: AxisPoint
    arm: Arm


@dataclass(frozen=True, slots=True)
class Sweep:
    """Everything that will be run, checked."""

    axis: Axis
    cells: tuple[SweepCell, ...]
    seeds: tuple[int, ...]

    @property
    def jobs(self) -> list[Job]:
        return jobs_of((cell.arm for cell in self.cells), self.seeds)


@dataclass(frozen=True, slots=True)
class SweepRow:
    """One cell and what its seeds came to."""

    cell: SweepCell
    statistics: SeedStatistics


def plan_sweep(
    scenarios: Sequence[str], axis: Axis, values: Sequence[str], seeds: Sequence[int], overrides: Mapping[str, str]
) -> Sweep:
    """Load every cell's scenario. overrides: hold in every cell.

    Raises: ConfigError for anything that could not be run.
    """
    if axis.key is not None and axis.key in overrides:
        what = f"{axis.key} = {overrides[axis.key]} is set, but it is what --axis {axis.name} varies"
        raise ConfigError(what, key=axis.key, value=overrides[axis.key])
    if len(scenarios) > SERIES_MAX:
        raise ConfigError(f"one figure shows at most {SERIES_MAX} scenarios, not {len(scenarios)}", key="--scenario")
    cells = []
    for name in scenarios:
        base = load_arm(name, overrides)
        for value in values:
            point = axis.point(value, base.scenario)
            cells.append(SweepCell(base.scenario.name, point, load_arm(name, overrides, point.overrides)))
    return Sweep(axis, tuple(cells), tuple(seeds))


def sweep_rows(sweep: Sweep, records: Records) -> list[SweepRow]:
    """The rows, in the order of the cells."""
    return [
        SweepRow(cell, seed_statistics([records[Job(cell.arm, seed).key] for seed in sweep.seeds]))
        for cell in sweep.cells
    ]
