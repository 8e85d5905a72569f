"""The machine's evidence in the words of `results`.

Owns: the translation. Does not own: either side. Floor 5.
"""

from __future__ import annotations

from kernels.engine.evidence import RequestEvidence
from results.records import MachineEvidence, StaleRead

UNKNOWN_LATENESS_US = -1.0


def machine_evidence(evidence: RequestEvidence) -> MachineEvidence:
    """What a turn's record says of the machine; ask once the reply is there, so that late bytes have landed."""
    late_ns_max = evidence.late_ns_max
    return MachineEvidence(
        host_hit_tokens=evidence.host_hit_tokens,
        device_hit_tokens=evidence.device_hit_tokens,
        new_tokens=evidence.new_tokens,
        batch=evidence.batch,
        stale_reads=evidence.stale_reads,
        torn_reads=evidence.torn_reads,
        stale_layers=len({layer for _, layer in evidence.stale_layers}),
        late_us_max=None if late_ns_max is None or late_ns_max < 0 else late_ns_max / 1_000,
        poisoned_reads=evidence.poisoned_reads,
        decode_stale_reads=evidence.decode_stale_reads,
        stale_sample=tuple(
            StaleRead(
                pool=read.pool,
                layer=read.layer,
                pages=read.pages,
                late_us=UNKNOWN_LATENESS_US if read.late_ns < 0 else read.late_ns / 1_000,
                torn=read.torn,
            )
            for read in evidence.sample()
        ),
    )
