"""Served runs that several tests look at are made once.

Owns: the fixture. Floor: tests.
"""

from __future__ import annotations

import pytest

from harness.config import Scenario
from harness.races import served
from harness.races.served import Served, serve_and_watch


@pytest.fixture(scope="session")
def known_runs() -> dict[str, Served]:
    return {}


@pytest.fixture(autouse=True)
def _each_run_once(known_runs: dict[str, Served], monkeypatch: pytest.MonkeyPatch) -> None:
    """A run follows from scenario and seed, and nobody changes what it showed."""

    def serve_once(scenario: Scenario, seed: int) -> Served:
        key = f"{scenario} {seed}"
        if key not in known_runs:
            known_runs[key] = serve_and_watch(scenario, seed)
        return known_runs[key]

    monkeypatch.setattr(served, "serve_and_watch", serve_once)
