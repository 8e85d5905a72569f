"""What the tests of whole runs share: one shared model, as the arms of one comparison do, and one run of the incident.

Owns: the fixtures. Floor: tests. Source: ours.
"""

from __future__ import annotations

import pytest

from harness.simulation.run import RunProgress, run_to_end
from kernels.engine.shared import SharedModel
from tests.harness.simulation.small_runs import Incident, simulation, small


@pytest.fixture(scope="session")
def shared() -> SharedModel:
    return SharedModel()


@pytest.fixture(scope="session")
def incident(shared: SharedModel, tmp_path_factory: pytest.TempPathFactory) -> Incident:
    progress: list[RunProgress] = []
    store = tmp_path_factory.mktemp("runs")
    run = simulation(small("hicache_bf16"), shared, store=store, on_progress=progress.append)
    return Incident(run, run_to_end(run), progress)
