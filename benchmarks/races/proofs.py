"""Proofs: every order of the small programs that are right, how many there are, and what looking at them costs.

Owns: the counts, benchmarks/results/races/proofs.json and its table. Does not own: the search (`kernels.races.search`),
the programs. Repeat it with

    python -m benchmarks.races.proofs

Exit code 1 where an order of a right program fails, 4 where the budget ended before the orders did.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import islice

from benchmarks.page import Figures
from benchmarks.races.arms import arms
from benchmarks.races.catalogue import cases
from benchmarks.races.stored import machine, save, table
from harness.races.cache_program import CacheProgram, Shape
from harness.races.shrinking import PAGES_MAX, SESSIONS_MAX, TURNS_MAX, standard_shape
from kernels.hicache.geometry import preset
from kernels.races.scheduler.plan import Plan
from kernels.races.scheduler.program import Program
from kernels.races.search.exhaustive import Exhaustive


@dataclass(frozen=True, slots=True)
class Proof:
    """orders: looked at. failing: of them. cpu_s: with the start of the program."""

    program: str
    orders: int
    failing: int
    is_exhausted: bool
    cpu_s: float

    @property
    def answer(self) -> str:
        if self.failing:
            return "fails"
        return "exhausted: clean" if self.is_exhausted else "bounded"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--budget", type=int, default=10_000, help="orders of one program, at most")
    given = parser.parse_args()
    if given.budget < 1:
        parser.error("--budget must be 1 or more")
    load_before = os.getloadavg()[0]
    found: list[Proof] = []
    for name, program in right_programs():
        found.append(prove(name, program, given.budget))
        print(f"{name:<74}{found[-1].orders:>5,} orders  {found[-1].answer:<18}{found[-1].cpu_s:>6.2f} s")
    command = " ".join(["python -m benchmarks.races.proofs", *sys.argv[1:]])
    save("proofs", {**machine(command, load_before), "proofs": [asdict(one) for one in found]})
    rows = tuple((one.program, f"{one.orders:,}", one.answer, f"{1e3 * one.cpu_s:,.0f}") for one in found)
    table({"proofs": Figures(("program", "orders", "answer", "CPU ms"), rows, f"`{command}`")})
    if any(one.failing for one in found):
        return 1
    return 0 if all(one.is_exhausted for one in found) else 4


def right_programs() -> Iterator[tuple[str, Program]]:
    """The ordered twin of every fault, and the cache of every arm that is right: as `prove` makes it small, and with
    all layers of the model and as much to do as a search ever tries."""
    for case in cases():
        yield f"{case.name}, ordered", case.ordered
    for arm in arms():
        if arm.is_right:
            scenario = arm.load()
            layers = preset(scenario.cache.preset).layer_kinds
            for shape in (standard_shape(scenario), Shape(SESSIONS_MAX, layers, PAGES_MAX, TURNS_MAX)):
                yield f"{arm.name}: {shape}", CacheProgram(scenario, shape)


def prove(name: str, program: Program, budget: int) -> Proof:
    began_s = time.process_time()
    search = Exhaustive(Plan(program))
    failing = sum(outcome.has_failed for outcome in islice(search.outcomes(), budget))
    # The search knows that it is over only when it is asked for one more.
    is_exhausted = next(search.outcomes(), None) is None and not search.was_cut
    return Proof(name, search.order_count, failing, is_exhausted, round(time.process_time() - began_s, 4))


if __name__ == "__main__":
    sys.exit(main())
