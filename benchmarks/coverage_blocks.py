"""Live runs: how long a block of time must be before blocks count as independent.

Owns: requests whose chance of corruption drifts with a known memory. Does not own: the scenes made of seeds.
"""

from __future__ import annotations

import numpy as np
from scipy import special

from benchmarks.coverage_scenes import Cell, Table, share
from results.stats.arm_rate import arm_rate
from results.stats.blocks import block_numbers, counts_by_cluster
from results.stats.intervals import clopper_pearson

_REQUESTS = 3_600
_MEMORY_S = 60.0
_BLOCKS_S = (1.0, 10.0, 60.0, 180.0, 360.0)
_CENTRE, _SPREAD = -3.0, 1.0


def block_lengths(rng: np.random.Generator, repeats: int) -> Table:
    """An hour of one request a second; log-odds drift with a memory of 60 s. Coverage of 95 % intervals by block."""
    truth = float(np.mean(special.expit(_CENTRE + _SPREAD * rng.standard_normal(1_000_000))))
    starts_s = [float(second) for second in range(_REQUESTS)]
    blocks = {block_s: block_numbers(starts_s, block_s) for block_s in _BLOCKS_S}
    held = dict.fromkeys(_BLOCKS_S, 0)
    pooled = 0
    for _ in range(repeats):
        struck = (rng.random(_REQUESTS) < special.expit(_CENTRE + _SPREAD * _drift(rng))).tolist()
        whole = clopper_pearson(sum(struck), _REQUESTS)
        pooled += whole.low <= truth <= whole.high
        for block_s, numbers in blocks.items():
            found = arm_rate(*counts_by_cluster(numbers, struck))
            held[block_s] += found.low <= truth <= found.high
    rows: list[tuple[Cell, ...]] = [("requests as units", _REQUESTS, share(pooled, repeats))]
    rows += [
        (f"blocks of {block_s:g} s", len(set(blocks[block_s])), share(count, repeats))
        for block_s, count in held.items()
    ]
    return Table("blocks", repeats, ("units", "how many", "covered"), tuple(rows))


def _drift(rng: np.random.Generator) -> np.ndarray:
    """[request] float64: a standard normal that forgets by a factor e in the memory's time (AR(1))."""
    keep = float(np.exp(-1 / _MEMORY_S))
    steps = rng.standard_normal(_REQUESTS)
    steps[1:] *= np.sqrt(1 - keep**2)
    drift = np.empty(_REQUESTS)
    drift[0] = steps[0]
    for at in range(1, _REQUESTS):
        drift[at] = keep * drift[at - 1] + steps[at]
    return drift
