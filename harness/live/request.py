"""What a live run is asked to do: against whom, with what, how patiently, and what goes on beside the load.

Owns: the request. Does not own: its making from a command line (`stress_request.py`), running it (`run.py`). Floor 5.
Source: ours.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

from harness.config.schema import WorkloadSpec
from harness.live.arrivals import LoadShape
from harness.live.beside import BesidePlan
from harness.live.credentials import Credentials
from harness.live.limits import Limits
from harness.live.serial.settings import SerialSettings
from harness.live.target import Target
from harness.live.tasks.task import Task
from harness.live.workloads.formats import FileWorkload
from harness.simulation.run import MakeTransport, RunProgress
from harness.transport.contract import TransportOptions


@dataclass(frozen=True, slots=True)
class Patience:
    """How long to wait for a connection, and for the next byte."""

    connect_s: float = 10.0
    read_s: float = 120.0


@dataclass(frozen=True, slots=True, eq=False)
class LiveRequest:
    """What to run against whom. store: parent of the run folder; None keeps nothing. repeat: holds no secret."""

    target: Target
    model: str
    workload: WorkloadSpec
    load: LoadShape
    seed: int
    max_tokens: int
    transport_name: str
    transport: MakeTransport
    store: Path | None
    repeat: str
    credentials: Credentials = field(default_factory=Credentials)
    limits: Limits = field(default_factory=Limits)
    patience: Patience = field(default_factory=Patience)
    use_environment_proxies: bool = False
    metrics_urls: tuple[str, ...] = ()
    task: Task = Task.CALL
    serial: SerialSettings = field(default_factory=SerialSettings)
    files: FileWorkload | None = None
    beside: BesidePlan = field(default_factory=BesidePlan)
    on_progress: Callable[[RunProgress], None] = field(default=lambda _: None)

    def watched_by(self, watch: Callable[[RunProgress], None]) -> LiveRequest:
        return replace(self, on_progress=watch)

    def in_block(self, number: int) -> LiveRequest:
        """The same in another block of time, with sessions of its own: of the next seed, or a file's next ones."""
        files = None if self.files is None else replace(self.files, first=number)
        return replace(self, seed=self.seed + number, files=files)

    def transport_options(self) -> TransportOptions:
        return TransportOptions(
            self.target.base_url,
            api_key=self.credentials.api_key,
            headers=self.credentials.headers,
            connect_timeout_s=self.patience.connect_s,
            read_timeout_s=self.patience.read_s,
            use_environment_proxies=self.use_environment_proxies,
        )
