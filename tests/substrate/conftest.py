"""The rig: what the shared contract test needs of a substrate, whichever it is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import pytest

from kernels.substrate.contract import Buffer, Machine
from kernels.substrate.delays import parse_delay
from kernels.substrate.virtual.machine import VirtualMachine
from tests.substrate.plain import fill_host, plain_cost, plain_machine

SLOW_POINT = "h2d.index_k"
"""Copies at this point start late by so much that any reader which is not made to wait overtakes them."""


class Rig(Protocol):
    """One machine under test. `settle` runs it until nothing is left to do."""

    machine: Machine

    def settle(self) -> None: ...

    def filled_host(self, name: str, *, page_count: int, version: int) -> Buffer:
        """A host pool of one layer, all of whose pages hold this version."""


class VirtualRig:
    """The virtual substrate under the contract test."""

    def __init__(self) -> None:
        self.machine: VirtualMachine = plain_machine(
            plain_cost(host__enqueue=3.5, host__event=1.0, copy__launch=5.0),
            delays=[parse_delay(f"{SLOW_POINT}=constant:50ms")],
        )

    def settle(self) -> None:
        self.machine.run()

    def filled_host(self, name: str, *, page_count: int, version: int) -> Buffer:
        host = self.machine.buffer(name, space="host", layer_count=1, page_count=page_count, page_bytes=1_000)
        fill_host(self.machine, host, version)
        return host


@pytest.fixture(params=[VirtualRig], ids=["virtual"])
def rig(request: pytest.FixtureRequest) -> Rig:
    make: Callable[[], Rig] = request.param
    return make()
