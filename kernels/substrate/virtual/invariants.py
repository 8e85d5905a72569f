"""What must hold of a virtual machine between any two events; tests call `check_invariants` after every step.

Owns: the conditions. Does not own: repairing anything; a broken one is a bug of ours and asserts. Floor 1.
"""

from __future__ import annotations

from kernels.substrate.virtual.copying import CopyWork
from kernels.substrate.virtual.link import Link
from kernels.substrate.virtual.machine import VirtualMachine
from kernels.substrate.virtual.memory import VirtualBuffer, still_visible
from kernels.substrate.virtual.stream import VirtualStream
from kernels.substrate.virtual.work import WaitWork

_ROUNDING = 1.0 + 1e-9


def check_invariants(machine: VirtualMachine) -> None:
    """Assert everything below. Cost: proportional to what is under way, not to the size of the pools."""
    next_ns = machine.next_time_ns()
    assert next_ns is None or next_ns >= machine.now_ns, f"{machine!r}: an event lies in the past"
    for stream in machine.streams:
        _check_stream(stream)
    for link in machine.links.all():
        _check_link(link)
    is_at_rest = next_ns is None and not any(stream.queued for stream in machine.streams)
    for buffer in machine.buffers:
        _check_buffer(buffer, is_at_rest)


def _check_stream(stream: VirtualStream) -> None:
    ordinals = [operation.ordinal for operation in stream.queued]
    assert ordinals == sorted(set(ordinals)), f"{stream!r} is not in host issue order: {ordinals}"
    if ordinals:
        # Everything else ends as soon as the stream is free, so nothing else can be left standing.
        head = stream.head
        assert isinstance(head, CopyWork | WaitWork), f"{stream!r} stands at {head!r} for no reason"
        assert not isinstance(head, WaitWork) or head.is_blocked, f"{stream!r} waits for a record that is complete"


def _check_link(link: Link) -> None:
    assert link.carried <= link.capacity_now * _ROUNDING, f"{link!r} carries more than it can"
    for transfer in link.active:
        assert 0.0 < transfer.rate <= transfer.cap * _ROUNDING, f"{transfer!r} moves faster than it can alone"
        assert 0.0 <= transfer.done <= transfer.byte_count, f"{transfer!r} has moved bytes it does not have"
    if link.opposite is not None:
        assert link.opposite.opposite is link, f"{link!r} and {link.opposite!r} do not know each other"


def _check_buffer(buffer: VirtualBuffer, is_at_rest: bool) -> None:
    for landing in buffer.landings:
        if landing.settled_ns is None:
            assert landing.begin_ns in buffer.open_ns, f"{buffer!r}: a landing under way is no open access"
        else:
            assert landing.before is not None, f"{buffer!r} remembers a landing without what it wrote over"
            assert buffer.open_ns, f"{buffer!r} remembers a landing for nobody"
    if buffer.open_ns:
        needed = still_visible(buffer.landings, min(buffer.open_ns))
        assert len(needed) == len(buffer.landings), f"{buffer!r} remembers landings that nobody can look back at"
    if is_at_rest:
        assert not buffer.open_ns, f"{buffer!r} has open accesses, but nothing is under way"
