"""A machine on which arithmetic can be done by hand, and small words for regions.

Owns: test doubles of the substrate's tests. Plain cost: host calls and launches are free, nothing jitters, the gather
path moves 1 byte a nanosecond for each copy, and a link carries `link` bytes a nanosecond.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from kernels.substrate.contract import Buffer, Delay, Machine, Region, Versions, Write
from kernels.substrate.cost import CostModel
from kernels.substrate.cost_file import load_cost_model, with_override
from kernels.substrate.trace import TraceSink
from kernels.substrate.virtual.machine import VirtualMachine

PLENTY = 1e9
"""Bandwidth of a link on which nobody ever has to share."""


def plain_cost(*, link: float = PLENTY, **numbers: float) -> CostModel:
    """The plain model; more numbers by key, with two underscores for the dot."""
    settings: Mapping[str, float] = {
        "host.enqueue": 0.0,
        "host.event": 0.0,
        "copy.launch": 0.0,
        "copy.gather": 1.0,
        "link.h2d": link,
        "link.d2h": link,
        "link.duplex": 1.0,
        "jitter.copy": 0.0,
        "jitter.compute": 0.0,
        **{key.replace("__", "."): value for key, value in numbers.items()},
    }
    model = load_cost_model()
    for key, value in settings.items():
        model = with_override(model, key, value)
    return model


PLAIN = plain_cost()
"""Read once, because property tests make many machines."""


def plain_machine(
    cost: CostModel = PLAIN, *, delays: Sequence[Delay] = (), trace: TraceSink | None = None, seed: int = 0
) -> VirtualMachine:
    return VirtualMachine(cost, seed=seed, delays=delays, trace=trace)


def region(buffer: Buffer, pages: Sequence[int], layers: Sequence[int] = (0,)) -> Region:
    return Region(buffer, tuple(layers), np.asarray(pages, dtype=np.int64))


def write(buffer: Buffer, pages: Sequence[int], version: int, layers: Sequence[int] = (0,)) -> Write:
    return Write(region(buffer, pages, layers), np.full(len(pages), version, dtype=np.int64))


def fill_host(machine: Machine, host: Buffer, version: int, settle: Callable[[], None]) -> None:
    """Set-up: every page of a host pool holds this version before anything else happens.

    The contract lets only device kernels make content, so the bytes come from a device by way of a copy.
    """
    layers, pages = tuple(range(host.layer_count)), np.arange(host.page_count, dtype=np.int64)
    device = 99
    staging = machine.buffer(
        f"staging of {host.name}",
        space=f"device:{device}",
        layer_count=host.layer_count,
        page_count=host.page_count,
        page_bytes=host.page_bytes,
    )
    stream = machine.stream(f"fill of {host.name}", device=device)
    versions: Versions = np.full(host.page_count, version, dtype=np.int64)
    stream.launch(
        "fill", duration_ns=0, point="compute.layer", writes=[Write(Region(staging, layers, pages), versions)]
    )
    stream.copy(Region(staging, layers, pages), Region(host, layers, pages), point="d2h.backup", label="fill")
    settle()


def landed(machine: Machine, where: Region) -> list[int]:
    """Versions in memory now, flat."""
    found: list[int] = machine.landed(where).ravel().tolist()
    return found
