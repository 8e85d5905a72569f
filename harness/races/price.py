"""The price of a wait: the program on the virtual machine, once as it is and once with the wait.

Owns: the comparison. Does not own: the cost model, the wait. Floor 5.

It is the price in this one program, in a run in which nobody is late by chance: a wait for what is over costs nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

from kernels.races.scheduler.program import Program
from kernels.races.search.mending import Edge, with_edges
from kernels.substrate.cost import CostModel
from kernels.substrate.virtual.machine import VirtualMachine


def wait_price_ns(program: Program, edges: Sequence[Edge], cost: CostModel, *, seed: int) -> int:
    """How much later the program ends with these edges, in virtual nanoseconds; may be below 0, by reordered work."""
    return end_ns(with_edges(program, edges), cost, seed) - end_ns(program, cost, seed)


def end_ns(program: Program, cost: CostModel, seed: int) -> int:
    """When the program ends on the virtual machine."""
    machine = VirtualMachine(cost, seed=seed)
    program(machine)
    machine.run()
    return machine.now_ns
