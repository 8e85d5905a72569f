"""How many of twelve victims of a lapsed lease chance finds, and how many the forced order does.

Owns: the two figures and their printing. Does not own: the program (`scenarios/fixes/lease.py`), forcing.
Repeat it with `python -m benchmarks.lease_victims`.
"""

from __future__ import annotations

import statistics

from kernels.races.search.forcing import force_each
from scenarios.fixes import lease

SCHEDULES = 1_000
SEED = 22_811


def main() -> int:
    print(f"seed {SEED}, {SCHEDULES:,} random schedules")
    for name, program in (("lapsed lease", lease.program), ("gated twin", lease.gated)):
        found = force_each(program, random_schedules=SCHEDULES, seed=SEED)
        counts = [len(spoilt) for spoilt in found.by_chance]
        print(
            f"{name}: forced {len(found.shown)} of {lease.VICTIMS}; a random schedule finds "
            f"{statistics.mean(counts):.2f} of {lease.VICTIMS} on average, {max(counts)} at most; "
            f"{counts.count(0):,} of {SCHEDULES:,} find none"
        )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
