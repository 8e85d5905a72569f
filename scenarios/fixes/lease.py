"""A lease that lapses before the read: twelve victims in a pool of 24 blocks.

    python run.py race --program scenarios/fixes/lease.py           RACE: the block is reused before it was read
    python run.py race --program scenarios/fixes/lease.py:gated     CLEAN: a block is reused when its read has ended
    python -m benchmarks.lease_victims                              how many victims chance finds, and force

Owns: the two programs. Does not judge. Floor 4. Source: facts/peers.md item 6: vLLM's digest harness for remote reads
needs a short lease, a delayed read and a tiny pool with churn, and caught 5 of 12 victims; Mooncake issues 850, 4239.

A worker publishes twelve blocks under a lease, and a peer has posted one read for each. The leases lapse, the blocks go
to the end of the free list, and new requests fill the pool: first the free half, then the victims' blocks. Nobody asks
whether the reads have ended. Each new request's own block is read too, with its order: that traffic is right.
"""

from __future__ import annotations

import numpy as np

from kernels.substrate.contract import HostProgram, Machine, PageIds, Region, Stream, Until, Write

VICTIMS = 12
BLOCKS = 24


def program(machine: Machine) -> None:
    """Blocks are reused when their lease has lapsed."""
    _lapse(machine, waits=False)


def gated(machine: Machine) -> None:
    """Blocks are reused when their lease has lapsed and their read has ended."""
    _lapse(machine, waits=True)


def _lapse(machine: Machine, *, waits: bool) -> None:
    pool = machine.buffer("worker.kv", space="device:0", layer_count=1, page_count=BLOCKS, page_bytes=4_096)
    peer = machine.buffer("peer.kv", space="device:1", layer_count=1, page_count=2 * BLOCKS, page_bytes=4_096)
    forward, remote = machine.stream("worker.forward", device=0), machine.stream("peer.read", device=1)
    read = [machine.event(f"read[{block}]") for block in range(BLOCKS)]
    written = machine.event("written")

    def block(index: int) -> Region:
        return Region(pool, (0,), _one(index))

    def fetch(index: int, into: int, label: str) -> None:
        remote.copy(block(index), Region(peer, (0,), _one(into)), point="rdma", label=f"{label}[{index}]")
        remote.record(read[index])

    def worker() -> HostProgram:
        for victim in range(VICTIMS):
            _fill(forward, block(victim), version=1 + victim, label=f"prefill[{victim}]")
        forward.record(written)
        yield Until(written)
        for victim in range(VICTIMS):
            fetch(victim, victim, "read victim")
        # Here the leases lapse: the free list holds the blocks that were never used, and then the victims'.
        for turn, index in enumerate((*range(VICTIMS, BLOCKS), *range(VICTIMS))):
            if waits and index < VICTIMS:
                forward.wait(read[index])
            _fill(forward, block(index), version=100 + turn, label=f"reuse[{index}]")
            if index >= VICTIMS:
                forward.record(written)
                remote.wait(written)
                fetch(index, BLOCKS + index, "read")

    machine.spawn("worker", worker())


def _fill(forward: Stream, region: Region, *, version: int, label: str) -> None:
    write = Write(region, np.array([version], dtype=np.int64))
    forward.launch(label, duration_ns=10, point="compute", writes=[write])


def _one(index: int) -> PageIds:
    return np.array([index], dtype=np.int64)
