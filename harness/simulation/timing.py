"""Whose time a run lives in: the conductor's, where the machine is virtual, or everybody's.

Owns: the gate and the clock of a run, and keeping a real machine going meanwhile. Does not own: either clock. Floor 5.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

from harness.load.clock import Clock, WallClock
from harness.load.conductor import Conductor
from harness.load.pacer import Pacer
from harness.pair.engines import Gate
from harness.simulation.backends import AnyMachine
from kernels.substrate.real.machine import RealMachine


@dataclass(frozen=True, slots=True, eq=False)
class Timing:
    """gate: for the servers. clock: for the load. alongside: awaits something while the machine is kept going."""

    gate: Gate
    clock: Clock
    alongside: Callable[[Awaitable[object]], Awaitable[object]]


@asynccontextmanager
async def timing_of(machine: AnyMachine) -> AsyncIterator[Timing]:
    """The time of a run on this machine. Effect: a real machine is closed at the end."""
    if not isinstance(machine, RealMachine):
        conductor = Conductor(machine)
        yield Timing(conductor, conductor, _alone)
        return
    clock = WallClock(machine.now_ns)
    pacer = Pacer(machine, clock=clock)
    try:
        yield Timing(pacer, clock, lambda work: _alongside(pacer, work))
    finally:
        machine.close()


async def _alone(work: Awaitable[object]) -> None:
    await work


async def _alongside(pacer: Pacer, work: Awaitable[object]) -> None:
    """Raises: what the machine raises; nothing can go on without it."""
    tasks = asyncio.ensure_future(work), asyncio.ensure_future(pacer.run())
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        if tasks[1].done():
            tasks[1].result()
        await tasks[0]
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
