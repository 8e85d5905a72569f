"""Skips tests of real load balancers where those are not installed, and says how to install them.

Owns: the reason. Does not own: which balancers there are (`benchmarks/live/balancers.py`). Floor: tests. Source: ours.
"""

from __future__ import annotations

import pytest

from benchmarks.live.balancers import is_installed


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if is_installed():
        return
    mark = pytest.mark.skip(reason="sglang-router and smg are not installed here: make parts")
    for item in items:
        if "balancer" in getattr(item, "fixturenames", ()):
            item.add_marker(mark)
