"""All that a load does besides beginning sessions, put together for one run.

Owns: which parts a shape needs. Does not own: any of them. Floor 5. Source: ours.
"""

from __future__ import annotations

from collections.abc import Sequence

from harness.live.arrivals import LoadShape
from harness.live.load.churn import ChurningTransport
from harness.live.load.figures import LoadFigures, load_figures
from harness.live.load.live_pace import LivePace
from harness.live.load.marks import Marker
from harness.live.load.order import OrderGate
from harness.live.load.pattern import waves_of
from harness.load.clock import Clock
from harness.load.workload.planned import PlannedSession
from harness.transport.contract import Transport
from results.findings import Judgement
from results.records import TurnRecord


class Behaviour:
    """pace: for the generators. marker: for the records."""

    def __init__(self, shape: LoadShape, plans: Sequence[PlannedSession], seed: int, clock: Clock) -> None:
        """Raises: ConfigError where the plans cannot follow the pattern."""
        waves = () if shape.pattern is None else waves_of(shape.pattern, plans)
        gate = None if shape.pattern is None else OrderGate(waves, shape.pattern.in_flight)
        self.pace = LivePace(clock, think=shape.think, time_scale=shape.time_scale, gate=gate, seed=seed)
        self.marker = Marker(shape.warm_up, waves)
        self._churn = shape.churn
        self._churning: ChurningTransport | None = None
        self._seed = seed
        self._clock = clock

    def __repr__(self) -> str:
        return f"Behaviour({self.pace}, {self.marker}, {self._churn})"

    def over(self, transport: Transport) -> Transport:
        """The transport that sessions shall use."""
        if self._churn is None:
            return transport
        self._churning = ChurningTransport(transport, self._clock, self._churn, self._seed)
        return self._churning

    def figures(
        self,
        turns: Sequence[TurnRecord],
        judgements: Sequence[Judgement],
        aside: Sequence[tuple[TurnRecord, Judgement]],
    ) -> LoadFigures:
        """turns, judgements: those that count."""
        too_late = 0 if self._churning is None else self._churning.too_late
        return load_figures(list(zip(turns, judgements, strict=True)), aside, too_late=too_late)
