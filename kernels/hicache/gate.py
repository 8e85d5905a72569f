"""The layer gate: three sets of layer events in a ring, and the wait that a reader takes on one of them.

Owns: producer and consumer index, events per layer. Does not own: copies (transfers), who must wait (access).
Floor 2a. Source: SGLang LayerDoneCounter and LayerLoadingEvent (semantics), ours (code).

A load takes the next set of the ring (the *producer*), records `start` on the schedule stream and one event after
each layer on the load stream. The batch that needs it is the *consumer*: its reads wait on that set, on the device;
a batch without a load has consumer -1 and waits on nothing. SGLang asserts that a set's last load is finished
before it is used again, so a fourth load in flight kills the process; here the host waits for it instead, and
`waits` counts how often.
"""

from __future__ import annotations

from kernels.hicache.pieces import HostPiece
from kernels.substrate.contract import Event, Machine, Query, Stream, Until

RING_DEPTH = 3
NO_CONSUMER = -1


class LayerRing:
    """Event sets of one rank: [RING_DEPTH] start events and [RING_DEPTH, layer_count] layer events."""

    def __init__(self, machine: Machine, layer_count: int, name: str) -> None:
        self.producer = NO_CONSUMER
        self.waits = 0
        self._start = tuple(machine.event(f"{name}.start[{slot}]") for slot in range(RING_DEPTH))
        self._layers = tuple(
            tuple(machine.event(f"{name}[{slot}].layer[{layer}]") for layer in range(layer_count))
            for slot in range(RING_DEPTH)
        )

    def start_event(self, slot: int) -> Event:
        return self._start[slot]

    def layer_event(self, slot: int, layer: int) -> Event:
        return self._layers[slot][layer]

    def finish_event(self, slot: int) -> Event:
        """The last layer's event: the load stream is FIFO, so everything before it is done too."""
        return self._layers[slot][-1]

    def claim(self) -> HostPiece[int]:
        """Take the next set. Effect: blocks the host thread where that set's last load is still in flight."""
        slot = (self.producer + 1) % RING_DEPTH
        is_finished = yield Query(self.finish_event(slot))
        if not is_finished:
            self.waits += 1
            yield Until(self.finish_event(slot))
        self.producer = slot
        return slot

    def __repr__(self) -> str:
        return f"LayerRing(producer={self.producer}, waits={self.waits})"


class LayerGate:
    """What a reader of one rank waits at."""

    def __init__(self, ring: LayerRing) -> None:
        self._ring = ring
        self.consumer = NO_CONSUMER

    def set_consumer(self, index: int) -> None:
        """Name the set that the next batch waits on; `NO_CONSUMER` for a batch that needs no load."""
        assert index == NO_CONSUMER or 0 <= index < RING_DEPTH, index
        self.consumer = index

    def wait(self, stream: Stream, layer: int) -> None:
        """Make `stream` wait, on the device, until `layer` (absolute id) of this batch's load is complete.

        Effect: enqueues one wait, or nothing where the batch has no load. The host never blocks.
        """
        if self.consumer != NO_CONSUMER:
            stream.wait(self._ring.layer_event(self.consumer, layer))

    def __repr__(self) -> str:
        return f"LayerGate(consumer={self.consumer})"
