"""The rig: what the shared contract test needs of a substrate, whichever it is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol

import pytest

from kernels.substrate.contract import Machine
from kernels.substrate.cuda.backend import CudaBackend
from kernels.substrate.delays import parse_delay
from kernels.substrate.real.clock import Clock
from kernels.substrate.real.machine import RealMachine
from kernels.substrate.threaded.backend import ThreadedBackend
from kernels.substrate.virtual.machine import VirtualMachine
from tests.substrate.plain import plain_cost, plain_machine

SLOW_POINT = "h2d.index_k"
"""Copies at this point start late by so much that any reader which is not made to wait overtakes them."""

SLOW = (parse_delay(f"{SLOW_POINT}=constant:50ms"),)


class Rig(Protocol):
    """One machine under test. `settle` runs it until nothing is left to do."""

    @property
    def machine(self) -> Machine: ...

    @property
    def page_bytes(self) -> int:
        """Such that a copy of eight pages takes long enough to be overtaken half way."""

    def settle(self) -> None: ...

    def close(self) -> None: ...


@dataclass
class VirtualRig:
    machine: VirtualMachine
    page_bytes: int = 1_000

    def settle(self) -> None:
        self.machine.run()

    def close(self) -> None: ...


@dataclass
class RealRig:
    machine: RealMachine
    page_bytes: int = 1_000

    def settle(self) -> None:
        self.machine.run()

    def close(self) -> None:
        self.machine.close()


def virtual_rig() -> Rig:
    cost = plain_cost(host__enqueue=3.5, host__event=1.0, copy__launch=5.0)
    return VirtualRig(plain_machine(cost, delays=SLOW))


def threaded_rig() -> Rig:
    """Copies take about as long as sleeping is exact, so that readers find them half done."""
    clock = Clock()
    return RealRig(RealMachine(ThreadedBackend(clock), plain_cost(copy__gather=0.02), clock=clock, delays=SLOW))


def cuda_rig() -> Rig:
    clock = Clock()
    return RealRig(RealMachine(CudaBackend(clock), plain_cost(), clock=clock, delays=SLOW), page_bytes=1 << 20)


@pytest.fixture(
    params=[virtual_rig, threaded_rig, pytest.param(cuda_rig, marks=pytest.mark.gpu)],
    ids=["virtual", "threaded", "cuda"],
)
def rig(request: pytest.FixtureRequest) -> Iterator[Rig]:
    make: Callable[[], Rig] = request.param
    rig = make()
    yield rig
    rig.close()
