"""The check as a part of a run: its own client, its files in the run folder, and its word for the run's verdict.

Owns: making the check's client. Does not own: the run (`harness/live/run`), the check (`check`). Floor 5. Source: ours.
The client is not the load's, so that quiet replies are in no figure of latency.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from harness.live.credentials import Credentials, Scrubber
from harness.live.limits import TokenBudget
from harness.live.observing import ObservedTransport
from harness.live.patience import PatientTransport
from harness.live.serial.asking import PlanOf
from harness.live.serial.check import SerialCheck, Served
from harness.live.serial.settings import SerialSettings
from harness.load.clock import WallClock
from harness.simulation import provenance
from harness.simulation.run import MakeTransport
from harness.transport.contract import TransportOptions
from results.findings import Judgement
from results.records import ServedAlone, TurnRecord
from results.serial.record import SerialRecord
from results.serial.store import write_serial

_STREAM = 7
"""Of the run's seed; other parts have other numbers."""


@dataclass(frozen=True, slots=True, eq=False)
class Around:
    """What a run lends to its check."""

    settings: SerialSettings
    make: MakeTransport
    options: TransportOptions
    metrics_urls: tuple[str, ...]
    credentials: Credentials
    model: str
    max_tokens: int
    seed: int
    plan_of: PlanOf
    judge: Callable[[TurnRecord], Judgement]
    budget: TokenBudget
    clock: WallClock
    on_reply: Callable[[int], None]


class AfterLoad:
    """Runs once. `stop` may be called at any time."""

    def __init__(self, around: Around) -> None:
        self._around = around
        self._rng = np.random.default_rng([around.seed, _STREAM])
        inner = around.make(around.options, now_ns=lambda: around.clock.now_ns)
        patient = PatientTransport(inner, around.clock, self._rng, self.stop)
        self._transport = ObservedTransport(patient, Scrubber(around.credentials.secrets))
        # Not of the seed: what an earlier run of the same seed left in the cache must not be found.
        salt = f"kvrace-{provenance.utc_now().timestamp():.6f}"
        served = Served(
            self._transport, around.options, around.metrics_urls, around.model, around.max_tokens, salt
        )  # fmt: skip
        self._check = SerialCheck(
            around.settings, served, around.plan_of, around.clock, judge=around.judge, budget=around.budget,
            rng=self._rng, on_reply=around.on_reply,
        )  # fmt: skip

    def __repr__(self) -> str:
        return f"AfterLoad({self._check})"

    def stop(self, reason: str) -> None:
        self._check.stop(reason)

    async def run(
        self, turns: Sequence[TurnRecord], judgements: Sequence[Judgement], *, load_s: float, folder: Path | None
    ) -> SerialRecord:
        """Effect: writes the record and its replies into the run folder. Raises: StorageProblem."""
        try:
            record = await self._check.run(turns, judgements, load_s=load_s)
        finally:
            await self._transport.close()
        if folder is not None:
            write_serial(folder, record, self._check.replies)
        return record


def served_alone(record: SerialRecord | None) -> ServedAlone | None:
    """What of it the run's verdict needs; None where no reply came."""
    if record is None or not record.turns:
        return None
    return ServedAlone(record.verdict, record.reason, record.is_explained)
