"""The layer gate: sets of layer events in a ring, three of them, and the wait that a reader takes on one set.

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
from kernels.hicache.remedy import Remedy
from kernels.substrate.contract import Event, Machine, Query, Stream, Until

NO_CONSUMER = -1


class LayerRing:
    """Event sets of one rank: [depth] start events and [depth, layer_count] layer events.

    remedy: what else the rank's loads record, and how many sets there are; without one there are three.
    """

    def __init__(self, machine: Machine, layer_count: int, name: str, remedy: Remedy | None = None) -> None:
        self.producer = NO_CONSUMER
        self.waits = 0
        self.layer_count = layer_count
        self.remedy = remedy if remedy is not None else Remedy()
        slots = range(self.depth)
        self._start = tuple(machine.event(f"{name}.start[{slot}]") for slot in slots)
        self._layers = tuple(
            tuple(machine.event(f"{name}[{slot}].layer[{layer}]") for layer in range(layer_count)) for slot in slots
        )
        self._index_k = self._layers
        if self.remedy.event != "layer":
            self._index_k = tuple(
                tuple(machine.event(f"{name}[{slot}].index_k[{layer}]") for layer in range(layer_count))
                for slot in slots
            )

    @property
    def depth(self) -> int:
        return self.remedy.ring_depth

    def start_event(self, slot: int) -> Event:
        return self._start[slot]

    def layer_event(self, slot: int, layer: int) -> Event:
        return self._layers[slot][layer]

    def index_k_event(self, slot: int, layer: int) -> Event:
        """What the index-K read of a layer is to wait for: the layer's event, or one of index-K's own."""
        return self._index_k[slot][layer]

    def finish_event(self, slot: int) -> Event:
        """The last layer's event: the load stream is FIFO, so everything before it is done too."""
        return self._layers[slot][-1]

    def claim(self) -> HostPiece[int]:
        """Take the next set. Effect: blocks the host thread where that set's last load is still in flight."""
        slot = (self.producer + 1) % self.depth
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
        self.ring = ring
        self.consumer = NO_CONSUMER

    def set_consumer(self, index: int) -> None:
        """Name the set that the next batch waits on; `NO_CONSUMER` for a batch that needs no load."""
        assert index == NO_CONSUMER or 0 <= index < self.ring.depth, index
        self.consumer = index

    def wait(self, stream: Stream, layer: int) -> None:
        """Make `stream` wait, on the device, until `layer` (absolute id) of this batch's load is complete.

        Effect: enqueues one wait, or nothing where the batch has no load. The host never blocks.
        """
        __tracebackhide__ = True  # The accessor is who waits.
        if self.consumer != NO_CONSUMER:
            stream.wait(self.ring.layer_event(self.consumer, layer))

    def wait_index_k(self, stream: Stream, layer: int) -> None:
        """The same for the index-K read, whose copy may have an event of its own."""
        __tracebackhide__ = True
        if self.consumer != NO_CONSUMER:
            stream.wait(self.ring.index_k_event(self.consumer, layer))

    def __repr__(self) -> str:
        return f"LayerGate(consumer={self.consumer})"
