"""One forward of the model over a batch: the kernels of every layer, issued on one rank's stream.

Owns: the order of kernels, reads and gates inside a layer, and what the reads saw. Does not own: who is in the batch
(batching), what the bytes mean (readout), which reads wait (hicache.access). Floor 2c.
Source: SGLang's order in a layer, facts/sglang.md section 1: projections and stores, index-K read and selection, then
the attention getter, which takes the layer's gate. The compressor's states are taken to be read behind the gate: in
0.5.16 their getter is gated too, and in front of the index-K read it would mask the race as the fused store does.

    layer L     project+store -> [fused: gate] -> index-K read, select -> gate(L) -> window, latents: attention, experts
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from kernels.engine.batch import Batch
from kernels.engine.spec import LayerShare
from kernels.hicache.access import LayerAccess, LayerRead
from kernels.hicache.geometry import PoolKind
from kernels.hicache.host_gate import HostGate
from kernels.hicache.pieces import HostPiece
from kernels.substrate.contract import Event, KernelBody, Machine, PageView, Region, Sleep, Stream, Versions, Write
from kernels.substrate.cost import CostModel

COMPUTE_POINT = "compute.layer"
INDEXER_POINT = "compute.indexer"


@dataclass(slots=True, eq=False)
class Readings:
    """What one rank's forward saw. Complete once the forward has ended.

    wanted: [n] int64, the versions that host issue order promises for the context pages, which come first in
        `Batch.read_pages`; the same in all pools and layers.
    stale: (pool, absolute layer) -> view, only where a page was not as promised.
    """

    wanted: Versions
    stale: dict[tuple[PoolKind, int], PageView] = field(default_factory=dict)


class RankForward:
    """Issues forwards on one rank."""

    def __init__(
        self,
        machine: Machine,
        access: LayerAccess,
        stream: Stream,
        cost: CostModel,
        share: LayerShare,
        all_reduce: Sequence[Event],
    ) -> None:
        """all_reduce: one event per rank, this rank's at its own index; a single one where there is one rank."""
        self._machine = machine
        self._access = access
        self._stream = stream
        self._cost = cost
        self._share = share
        self._all_reduce = all_reduce
        self._host = HostGate(machine, access.gate, stream.name)

    def issue(self, batch: Batch, rank: int) -> HostPiece[Readings]:
        """Enqueue all layers. Effect: costs the host thread the launches; under tensor parallelism it gives way twice a
        layer, so that all ranks' threads stay in step: each finds the others' records when it waits for them, and none
        records the next layer before all wait for this one.

        Returns: the readings, filled while the forward runs.
        """
        yield from self._host.before_forward()
        layer = self._access.geometry.layers_with("index_k")[0]
        context = self._access.region("index_k", layer, batch.read_pages[: batch.context_page_count])
        readings = Readings(self._machine.wanted(context)[0])
        layer_ns = self._cost.layer_ns(batch.new_tokens, batch.cached_tokens)
        for layer in range(self._access.geometry.layer_count):
            yield from self._issue_layer(batch, layer, layer_ns, readings)
            if len(self._all_reduce) > 1:
                self._stream.record(self._all_reduce[rank])
                yield Sleep(0)
                for other, event in enumerate(self._all_reduce):
                    if other != rank:
                        self._stream.wait(event)
                yield Sleep(0)
        return readings

    def _issue_layer(self, batch: Batch, layer: int, layer_ns: int, readings: Readings) -> HostPiece[None]:
        access, stream = self._access, self._stream
        project_ns = round(layer_ns * self._share.project)
        index_ns = 0
        # A pool that a switch leaves ungated is read at the very start, before this layer waits for anything.
        early = access.early_reads(stream, layer, batch.read_pages, batch.window_pages)
        access.store_index_k(stream, layer)
        written = [Write(part.region, batch.versions) for part in access.written(layer, batch.new_pages)]
        self._launch(f"project[layer {layer}]", project_ns, COMPUTE_POINT, early, layer, readings, written)
        keys = access.read_index_keys(layer, batch.read_pages)
        if keys is not None:
            index_ns = round(layer_ns * self._share.index) // 2
            self._launch(f"index_keys[layer {layer}]", index_ns, INDEXER_POINT, (keys,), layer, readings)
        if access.has_index_k(layer):
            yield from self._host.before_index_k(layer)
        index_k = access.read_index_k(stream, layer, batch.read_pages)
        if index_k is not None:
            rest_ns = round(layer_ns * self._share.index) - index_ns
            self._launch(f"indexer[layer {layer}]", rest_ns, INDEXER_POINT, (index_k,), layer, readings)
            index_ns += rest_ns
            access.index_k_was_read(stream, layer)
        main = access.read_main(stream, layer, batch.read_pages, batch.window_pages)
        rest_ns = layer_ns - project_ns - index_ns
        self._launch(f"attention[layer {layer}]", rest_ns, COMPUTE_POINT, main, layer, readings)

    def _launch(
        self,
        label: str,
        duration_ns: int,
        point: str,
        reads: Sequence[LayerRead],
        layer: int,
        readings: Readings,
        writes: Sequence[Write] = (),
    ) -> None:
        __tracebackhide__ = True  # Who launches is the layer's code.
        regions = [read.region for read in reads if len(read.region.pages)]
        kinds = [read.kind for read in reads if len(read.region.pages)]
        self._stream.launch(
            label,
            duration_ns=duration_ns,
            point=point,
            reads=regions,
            writes=writes,
            read_ns=min(duration_ns, self._read_ns(regions)),
            body=_keep(readings, kinds, layer) if regions else None,
            layer=layer,
        )

    def _read_ns(self, regions: Sequence[Region]) -> int:
        """The gather at the front of a kernel runs at the device's memory bandwidth."""
        return round(sum(region.byte_count for region in regions) / self._cost.link.local.value)


def _keep(readings: Readings, kinds: Sequence[PoolKind], layer: int) -> KernelBody:
    def body(views: Sequence[PageView]) -> None:
        for kind, view in zip(kinds, views, strict=True):
            if view.stale.any():
                readings.stale[kind, layer] = view

    return body
