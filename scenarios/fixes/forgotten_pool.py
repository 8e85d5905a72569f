"""A load that restores KV and forgets its index pages: ordered, and wrong all the same.

    python run.py race --program scenarios/fixes/forgotten_pool.py             FAILS: ordered, yet stale
    python run.py race --program scenarios/fixes/forgotten_pool.py:restored    CLEAN: the twin that loads both pools

Owns: the two programs. Does not judge. Floor 4. Source: facts/bugs.md class 9: SGLang issues 17085 and 38031 (host hits
after which index buffers are neither saved nor restored).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kernels.races.identity import expects
from kernels.substrate.contract import HostProgram, Machine, Region, Stream, Until, Write

POOLS = ("kv", "index_k")
PAGE = np.array([0], dtype=np.int64)
FIRST, SECOND = 1, 2
"""Versions: what each of two sessions puts into the one device page."""


def program(machine: Machine) -> None:
    """The load forgets the index pages."""
    _session_comes_back(machine, loaded=("kv",))


def restored(machine: Machine) -> None:
    """The load restores every pool that the page has."""
    _session_comes_back(machine, loaded=POOLS)


def _session_comes_back(machine: Machine, loaded: Sequence[str]) -> None:
    device = {pool: _page(machine, f"device.{pool}", "device:0") for pool in POOLS}
    host = {pool: _page(machine, f"host.{pool}", "host") for pool in POOLS}
    forward, backup, load = (machine.stream(name, device=0) for name in ("forward", "backup", "load"))
    computed, saved, arrived = (machine.event(name) for name in ("computed", "saved", "loaded"))

    def scheduler() -> HostProgram:
        _compute(forward, device, FIRST)
        forward.record(computed)
        backup.wait(computed)
        for pool in POOLS:
            backup.copy(device[pool], host[pool], point="d2h.backup", label=f"back up {pool}")
        backup.record(saved)
        yield Until(saved)
        # The page is free now; another session gets it.
        _compute(forward, device, SECOND)
        forward.record(computed)
        yield Until(computed)
        for pool in loaded:
            load.copy(host[pool], device[pool], point=f"h2d.{pool}", label=f"load {pool}")
        load.record(arrived)
        forward.wait(arrived)
        reads = [device[pool] for pool in POOLS]
        forward.launch(
            "select and attend", duration_ns=10, read_ns=10, point="compute", reads=reads, body=expects(FIRST)
        )

    machine.spawn("scheduler", scheduler())


def _compute(forward: Stream, device: dict[str, Region], version: int) -> None:
    writes = [Write(region, np.array([version], dtype=np.int64)) for region in device.values()]
    forward.launch(f"compute session {version}", duration_ns=10, point="compute", writes=writes)


def _page(machine: Machine, name: str, space: str) -> Region:
    return Region(machine.buffer(name, space=space, layer_count=1, page_count=1, page_bytes=8_448), (0,), PAGE)
