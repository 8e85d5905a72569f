"""The window on a chosen backend: a machine for it, and how long loads take there.

Owns: making the machine and timing its copies. Does not own: the program (`window.py`). Floor 6.
"""

from __future__ import annotations

from statistics import median

from harness.bench.window import WindowPoint, measure_window
from harness.simulation.backends import BackendChoice, make_machine
from kernels.substrate.cost_file import load_cost_model, with_override
from kernels.substrate.real.machine import RealMachine
from kernels.substrate.trace import MemoryTrace

RATIOS = (0.0, 0.25, 0.5, 0.75, 0.9, 1.0, 1.1, 1.25, 1.5, 2.0)
_GATHER_BLOCKS = 16
"""Enough for the full rate of the bus, on the device and in the cost model."""


def window_curve(backend: str, *, seed: int, trials: int) -> list[WindowPoint]:
    """Raises: EnvironmentProblem where this computer has not what the backend needs."""
    trace = MemoryTrace()
    cost = with_override(load_cost_model(), "copy.gather_blocks", _GATHER_BLOCKS)
    machine = make_machine(BackendChoice(backend), cost, seed=seed, delays=(), trace=trace, has_call_sites=False)

    def load_us() -> float:
        copies = [row for row in trace.operations if row.label.startswith("load[")]
        return median(copy.end_ns - copy.start_ns for copy in copies) / 1_000

    try:
        return measure_window(machine, machine.run, load_us, ratios=RATIOS, trials=trials)
    finally:
        if isinstance(machine, RealMachine):
            machine.close()
