"""Mutants of the gate and of who passes it: layer index, ring slot, ring size, query, consumer. Floor 5."""

from __future__ import annotations

from harness.races.mutants.code_mutant import CodeMutant

_BOUND = "a wait is bound to the record that is current when it is issued, and the load stream is in order"


GATE_MUTANTS: tuple[CodeMutant, ...] = (
    CodeMutant(
        "no gate for attention's reads",
        "gate:LayerGate.wait",
        (("stream.wait(self.ring.layer_event(self.consumer, layer))", "pass"),),
        ("10",),
    ),
    CodeMutant(
        "gate off by one layer",
        "gate:LayerGate.wait",
        (("layer_event(self.consumer, layer)", "layer_event(self.consumer, max(layer - 1, 0))"),),
        ("10",),
    ),
    CodeMutant(
        "gate of the next ring slot",
        "gate:LayerGate.wait",
        (("layer_event(self.consumer, layer)", "layer_event((self.consumer + 1) % self.ring.depth, layer)"),),
        ("10",),
    ),
    CodeMutant(
        "gate takes slot 0 for no load",
        "gate:LayerGate.wait",
        (("self.consumer != NO_CONSUMER", "self.consumer > 0"),),
        ("10",),
    ),
    CodeMutant(
        "no gate for the index-K read",
        "gate:LayerGate.wait_index_k",
        (("stream.wait(self.ring.index_k_event(self.consumer, layer))", "pass"),),
        ("10",),
    ),
    CodeMutant(
        "index-K gate off by one layer",
        "gate:LayerGate.wait_index_k",
        (("index_k_event(self.consumer, layer)", "index_k_event(self.consumer, max(layer - 1, 0))"),),
        ("10",),
    ),
    CodeMutant(
        "index-K gate of the previous ring slot",
        "gate:LayerGate.wait_index_k",
        (("index_k_event(self.consumer, layer)", "index_k_event(self.consumer - 1, layer)"),),
        ("10",),
    ),
    CodeMutant(
        "consumer is not set",
        "gate:LayerGate.set_consumer",
        (("self.consumer = index", "self.consumer = NO_CONSUMER"),),
        ("10",),
    ),
    CodeMutant(
        "consumer stays that of the batch before",
        "gate:LayerGate.set_consumer",
        (("self.consumer = index", "self.consumer = index if self.consumer == NO_CONSUMER else self.consumer"),),
        ("10",),
    ),
    CodeMutant(
        "accessor forgets attention's gate",
        "access:LayerAccess.read_main",
        (("self.gate.wait(stream, layer)", "pass"),),
        ("10",),
    ),
    CodeMutant(
        "accessor forgets the index-K gate",
        "access:LayerAccess.read_index_k",
        (('if self._wait in ("accessor", "every_read", "second_accessor")', "if False"),),
        ("10",),
    ),
    CodeMutant(
        "finish event is the first layer's",
        "gate:LayerRing.finish_event",
        (("self._layers[slot][-1]", "self._layers[slot][0]"),),
        ("6", "7"),
    ),
    CodeMutant(
        "finish event of the previous ring slot",
        "gate:LayerRing.finish_event",
        (("self._layers[slot][-1]", "self._layers[slot - 1][-1]"),),
        ("6", "7"),
    ),
    CodeMutant(
        "ring slot is used again without waiting",
        "gate:LayerRing.claim",
        (("yield Until(self.finish_event(slot))", "pass"),),
        reason=_BOUND,
    ),
    CodeMutant(
        "ring slot is used again without asking",
        "gate:LayerRing.claim",
        (("is_finished = yield Query(self.finish_event(slot))", "is_finished = True"),),
        reason=_BOUND,
    ),
    CodeMutant(
        "ring asks about the slot before",
        "gate:LayerRing.claim",
        (("Query(self.finish_event(slot))", "Query(self.finish_event(slot - 1))"),),
        reason=_BOUND,
    ),
    CodeMutant(
        "ring index does not move",
        "gate:LayerRing.claim",
        (("(self.producer + 1) % self.depth", "0"),),
        reason="each load then waits for the one before: later, never earlier",
    ),
    CodeMutant(
        "ring of one more slot than there are",
        "gate:LayerRing.claim",
        (("% self.depth", "% (self.depth + 1)"),),
        assertion="IndexError",
    ),
    CodeMutant(
        "load and attention use the last layer's event, index-K its own",
        "gate:LayerRing.layer_event",
        (("self._layers[slot][layer]", "self._layers[slot][-1]"),),
        ("10",),
    ),
    CodeMutant(
        "index-K waits for the last layer",
        "gate:LayerRing.index_k_event",
        (("self._index_k[slot][layer]", "self._index_k[slot][-1]"),),
        reason="it then waits for the whole load: later, never earlier",
    ),
    CodeMutant(
        "one start event for all slots",
        "gate:LayerRing.start_event",
        (("self._start[slot]", "self._start[0]"),),
        reason=_BOUND,
    ),
)
