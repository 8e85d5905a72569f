"""What the tests of the pair share: one shared model, as the runs of one process do.

Owns: the fixture. Floor: tests. Source: ours.
"""

from __future__ import annotations

import pytest

from kernels.engine.shared import SharedModel


@pytest.fixture(scope="session")
def shared() -> SharedModel:
    return SharedModel()
