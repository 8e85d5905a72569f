"""The pair on one machine: prefill engine, decode engine, the hand-off between them, built from one specification.

Owns: the wiring. Does not own: any behaviour; HTTP in front of it (harness). Floor 2c.

Devices: prefill rank r is device r, decode rank r is device tp + r. Every rank has its own pools, streams and host
link; bookkeeping is shared, because tensor parallel ranks take the same decisions in the same order.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field

from kernels.engine.bootstrap import Bootstrap
from kernels.engine.decode import DecodeEngine
from kernels.engine.evidence import RequestEvidence
from kernels.engine.forward import RankForward
from kernels.engine.handoff import Handoff, MetadataRows
from kernels.engine.ledger import ContentLedger
from kernels.engine.numerics import Numerics
from kernels.engine.prefill import PrefillEngine
from kernels.engine.readout import Readout
from kernels.engine.shared import SharedModel
from kernels.engine.spec import DecodeSpec, LayerShare, PrefillSpec
from kernels.hicache.access import LayerAccess
from kernels.hicache.controller import HiCache
from kernels.hicache.geometry import Geometry
from kernels.hicache.pools import TierPools
from kernels.hicache.spec import HiCacheSpec
from kernels.hicache.variant import Variant
from kernels.substrate.contract import Machine
from kernels.substrate.cost import CostModel

METADATA_ROWS = 4_096


@dataclass(frozen=True, slots=True)
class PairSpec:
    """Everything that tells one pair from another, apart from the machine that it runs on."""

    geometry: Geometry
    cache: HiCacheSpec
    variant: Variant
    prefill: PrefillSpec
    decode: DecodeSpec
    decode_tokens: int
    tp: int = 1
    share: LayerShare = field(default_factory=LayerShare)
    numerics: Numerics = "exact"


class ServingPair:
    """Both engines and what they share."""

    def __init__(self, machine: Machine, cost: CostModel, spec: PairSpec, shared: SharedModel) -> None:
        """Effect: makes buffers, streams, events and host threads on the machine.

        Raises: ConfigError for a geometry that the recall model does not serve, and for chunks of less than a page.
        """
        self.spec = spec
        self._evidence: dict[str, RequestEvidence] = {}
        geometry = spec.geometry
        forward_streams = [machine.stream(f"prefill.r{rank}.forward", device=rank) for rank in range(spec.tp)]
        handoff_streams = [machine.stream(f"prefill.r{rank}.handoff", device=rank) for rank in range(spec.tp)]
        decode_streams = [machine.stream(f"decode.r{rank}.forward", device=spec.tp + rank) for rank in range(spec.tp)]
        cache = HiCache(machine, geometry, spec.cache, forward_streams, name="prefill")
        decode_pools = [
            TierPools(
                machine,
                geometry,
                spec.cache.formats,
                name=f"decode.r{rank}.device",
                space=f"device:{spec.tp + rank}",
                page_count=spec.decode_tokens // geometry.page_tokens,
            )
            for rank in range(spec.tp)
        ]
        all_reduce = [machine.event(f"all_reduce.r{rank}") for rank in range(spec.tp)]
        forwards = [
            RankForward(machine, LayerAccess(geometry, rank, spec.variant), stream, cost, spec.share, all_reduce)
            for rank, stream in zip(cache.ranks, forward_streams, strict=True)
        ]
        bootstrap = Bootstrap()
        rows = MetadataRows(machine, METADATA_ROWS, decode_device=spec.tp)
        reader = shared.reader
        ledger = ContentLedger(shared.shelf(spec.cache.formats.index_k))
        readout = Readout(geometry, ledger, reader, shared.model(geometry), shared.memos(geometry), spec.numerics)
        self._handoff = Handoff(
            machine, geometry, [rank.device for rank in cache.ranks], decode_pools, handoff_streams, rows
        )
        self.cache = cache
        self.ledger = ledger
        self.prefill = PrefillEngine(
            machine,
            spec.prefill,
            cache,
            forwards,
            forward_streams,
            bootstrap=bootstrap,
            handoff=self._handoff,
            ledger=ledger,
            reader=reader,
            readout=readout,
            evidence=self._evidence,
        )
        self.decode = DecodeEngine(
            machine,
            geometry,
            spec.decode,
            decode_pools,
            decode_streams,
            bootstrap=bootstrap,
            rows=rows,
            ledger=ledger,
            reader=reader,
            readout=readout,
            evidence=self._evidence,
        )

    def evidence(self, request_id: str) -> RequestEvidence | None:
        """What the machine knows about a request, for as long as the pair lives."""
        return self._evidence.get(request_id)

    def host_hit_tokens(self, request_id: str) -> int:
        """Of a request's prompt, what came back from the host tier; 0 for a request that is not known."""
        evidence = self._evidence.get(request_id)
        return 0 if evidence is None else evidence.host_hit_tokens

    def counters(self) -> Mapping[str, int]:
        """The cache's statistics and the engines' own counts."""
        return {
            **asdict(self.cache.statistics),
            "forwards": self.prefill.forwards,
            "decode_steps": self.decode.steps,
            "handoffs": self._handoff.count,
            "handoff_bytes": self._handoff.bytes,
            **({"out_of_memory": 1} if self.prefill.failure else {}),
        }
