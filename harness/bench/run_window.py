"""The window on a chosen backend, and how it opens with an injected delay: a machine for each, timed by its trace.

Owns: making the machine and timing its copies. Does not own: the program (`window.py`). Floor 6.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from harness.bench.window import WindowPoint, measure_window
from harness.simulation.backends import BackendChoice, make_machine
from kernels.substrate.cost_file import load_cost_model, with_override
from kernels.substrate.delays import parse_delay
from kernels.substrate.real.machine import RealMachine
from kernels.substrate.trace import MemoryTrace

RATIOS = (0.0, 0.25, 0.5, 0.75, 0.9, 1.0, 1.1, 1.25, 1.5, 2.0)
DELAY_SHARES = (0.0, 0.1, 0.25, 0.4, 0.5, 0.6, 0.75, 1.0, 2.0)
"""Injected delay of a layer's load, over what the load takes."""

_DOSE_RATIO = 1.5
_GATHER_BLOCKS = 16
"""Enough for the full rate of the bus, on the device and in the cost model."""


def window_curve(backend: str, *, seed: int, trials: int) -> list[WindowPoint]:
    """No delay; compute grows. Raises: EnvironmentProblem where this computer has not what the backend needs."""
    return _measured(backend, seed, trials, RATIOS, delay_us=0, load_us=None)


def dose_response(backend: str, *, seed: int, trials: int) -> list[WindowPoint]:
    """Compute is half as long again as a load, so that nothing is stale by itself; the delay grows.

    The pair with the gate is the fenced control. Raises: as `window_curve`.
    """
    points = _measured(backend, seed, trials, (_DOSE_RATIO,), delay_us=0, load_us=None)
    for share in DELAY_SHARES[1:]:
        delay_us = round(share * points[0].load_us)
        points += _measured(backend, seed, trials, (_DOSE_RATIO,), delay_us=delay_us, load_us=points[0].load_us)
    return points


def _measured(
    backend: str, seed: int, trials: int, ratios: Sequence[float], *, delay_us: int, load_us: float | None
) -> list[WindowPoint]:
    trace = MemoryTrace()
    cost = with_override(load_cost_model(), "copy.gather_blocks", _GATHER_BLOCKS)
    delays = [parse_delay(f"h2d.index_k=constant:{delay_us}us")] if delay_us else []
    machine = make_machine(BackendChoice(backend), cost, seed=seed, delays=delays, trace=trace, has_call_sites=False)

    def timed() -> float:
        copies = [row for row in trace.operations if row.label.startswith("load[")]
        return median(copy.end_ns - copy.start_ns for copy in copies) / 1_000

    try:
        load = timed if load_us is None else load_us
        return measure_window(machine, machine.run, load, ratios=ratios, trials=trials, delay_us=delay_us)
    finally:
        if isinstance(machine, RealMachine):
            machine.close()
