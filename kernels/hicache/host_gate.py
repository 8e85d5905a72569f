"""The host's gate: a host thread that waits for a load, in place of the stream, as far as a remedy asks for it.

Owns: which host thread waits, for which event, and when. Does not own: the events (gate), the stream's waits (access).
Floor 2a. Source: CUDA's event synchronize and query (semantics: they order the calling thread only), ours (code).

A host wait in the thread that launches orders the launch, and so the read; it costs that thread's time. In another
thread it orders that thread alone. Without a remedy nothing here does anything, and no thread is started.
"""

from __future__ import annotations

from kernels.hicache.gate import NO_CONSUMER, LayerGate
from kernels.hicache.pieces import HostPiece
from kernels.substrate.contract import HostProgram, HostThread, Machine, Park, Query, Until


class HostGate:
    """The host waits of one rank's forward."""

    def __init__(self, machine: Machine, gate: LayerGate, name: str) -> None:
        """Effect: starts a host thread where the remedy waits in one that launches nothing."""
        self._gate = gate
        self._how = gate.ring.remedy.host
        self._slot = NO_CONSUMER
        self._watcher: HostThread | None = None
        if self._how in ("layer_elsewhere", "load_elsewhere"):
            self._watcher = machine.spawn(f"{name}.watcher", self._watch())

    def before_forward(self) -> HostPiece[None]:
        """Called by the launching thread when the load has been issued, and nothing of the forward yet."""
        slot = self._gate.consumer
        if slot == NO_CONSUMER:
            return
        if self._how == "load":
            yield Until(self._gate.ring.finish_event(slot))
        elif self._watcher is not None:
            self._slot = slot
            self._watcher.wake()

    def before_index_k(self, layer: int) -> HostPiece[None]:
        """Called by the launching thread just before it launches the index-K read of a layer (absolute id)."""
        slot = self._gate.consumer
        if slot == NO_CONSUMER:
            return
        event = self._gate.ring.layer_event(slot, layer)
        if self._how == "layer":
            yield Until(event)
        elif self._how == "asks_once":
            # The answer is thrown away: that is the mistake.
            yield Query(event)

    def _watch(self) -> HostProgram:
        ring = self._gate.ring
        while True:
            yield Park()
            slot = self._slot
            if self._how == "load_elsewhere":
                yield Until(ring.finish_event(slot))
                continue
            for layer in range(ring.layer_count):
                yield Until(ring.layer_event(slot, layer))

    def __repr__(self) -> str:
        return f"HostGate({self._how}, {self._gate})"
