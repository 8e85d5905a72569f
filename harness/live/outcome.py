"""What a live run came to, in the fields of the main command's JSON, and what only a live run knows.

Owns: the JSON, the counters, the exit code. Does not own: the figures themselves. Pure. Floor 5. Source: ours.
What nobody can know of a live server is null, never a zero: no stale read was *seen* is not the same as none.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field

from harness.live.beside import BesideReport
from harness.live.latency import ClientLag, Latency
from harness.live.load.figures import LoadFigures
from harness.live.scrape import ServerEvidence
from harness.live.workloads.use import WorkloadUse
from results.findings import Judgement
from results.records import RunManifest, TurnRecord
from results.serial.record import SerialRecord
from results.summary import RunSummary

INTERRUPTED = 130
_ONLY_THE_MACHINE_KNOWS = ("stale_reads", "torn_reads", "poisoned_reads", "decode_stale_reads", "origins",
                           "session_origins")  # fmt: skip
_ONLY_IF_COUNTED = ("load_backs", "loaded_bytes", "host_hit_turns")


@dataclass(frozen=True, slots=True, eq=False)
class LiveResult:
    """stopped_by: why it ended before its plan did; None where it did not. quirks: replies by protocol quirk."""

    summary: RunSummary
    manifest: RunManifest
    turns: list[TurnRecord]
    judgements: list[Judgement]
    latency: Latency
    lag: ClientLag
    evidence: ServerEvidence
    quirks: Mapping[str, int]
    tokens_spent: int
    stopped_by: str | None
    is_interrupted: bool
    load: LoadFigures = field(default_factory=LoadFigures)
    serial: SerialRecord | None = None
    workload: WorkloadUse = field(default_factory=WorkloadUse)
    beside: BesideReport = field(default_factory=BesideReport)

    def exit_code(self) -> int:
        """0 clean, 1 corruption, 4 could not judge or cut short by the server, 130 interrupted."""
        if self.is_interrupted:
            return INTERRUPTED
        return self.summary.exit_code()


def live_json(result: LiveResult) -> dict[str, object]:
    fields = result.summary.as_json()
    fields |= dict.fromkeys(_ONLY_THE_MACHINE_KNOWS)
    fields |= {name: None for name in _ONLY_IF_COUNTED if name not in result.summary.counters}
    return fields | {
        "latency_ms": asdict(result.latency),
        "client_lag_ms": asdict(result.lag),
        "evidence": asdict(result.evidence),
        "quirks": dict(result.quirks),
        "load": asdict(result.load),
        "served_alone": None if result.serial is None else asdict(result.serial),
        "workload": asdict(result.workload),
        "tokens_spent": result.tokens_spent,
        "stopped_by": result.stopped_by,
        **result.beside.as_json(),
    }


def live_counters(
    latency: Latency, lag: ClientLag, evidence: ServerEvidence, *, pauses: int, in_flight_max: int
) -> dict[str, int | float]:
    """The figures that travel with the run folder, so that every report made of it can show them."""
    known: dict[str, int | float | None] = {
        "requests_in_flight_max": in_flight_max,
        "streams_open_max": latency.streams_max,
        "streams_open_mean": latency.streams_mean,
        "pauses_asked_for": pauses,
        "client_lag_loop_ms_p99": lag.loop_p99,
        "client_lag_kernel_ms_p99": lag.kernel_p99,
        "client_cpu_share": lag.cpu_share,
        "client_is_too_late": int(latency.verdict == "unknown"),
        **evidence.counters,
    }
    return {name: value for name, value in known.items() if value is not None}
