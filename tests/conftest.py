"""What every test shares: reproducible property tests, GPU tests that are skipped where there is no GPU, a browser.

Owns: Hypothesis profiles, the `gpu` marker, the fixture `chromium`. Does not set up any part of the product.
Floor: tests. Source: ours.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from playwright.sync_api import Browser

# As in run.py, and before any test loads NumPy.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# The same examples on every machine, and nothing that depends on how fast it is. To search with new examples instead:
# pytest --hypothesis-profile=explore
settings.register_profile(
    "repeatable", derandomize=True, deadline=None, database=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("explore", deadline=None, max_examples=1000, print_blob=True)
settings.load_profile("repeatable")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip tests marked `gpu` where CuPy or a device is missing, and say which."""
    marked = [item for item in items if item.get_closest_marker("gpu") is not None]
    if not marked:
        return
    missing = _missing_gpu()
    if missing is not None:
        for item in marked:
            item.add_marker(pytest.mark.skip(reason=missing))


def _missing_gpu() -> str | None:
    try:
        import cupy
    except ImportError:
        return "CuPy is not installed: pip install cupy-cuda13x"
    try:
        count: int = cupy.cuda.runtime.getDeviceCount()
    except cupy.cuda.runtime.CUDARuntimeError as error:
        return f"no NVIDIA GPU: {error}"
    return None if count > 0 else "no NVIDIA GPU"


@pytest.fixture
def chromium() -> Iterator[Browser]:
    """The system's Chromium without a window; a test that asks for it is skipped where there is none.

    A browser a test: the synchronous client of Playwright keeps an event loop in its thread while it lives, which
    asyncio tests would trip over.
    """
    path = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if path is None:
        pytest.skip("Chromium is not installed: apt-get install chromium")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        browser.close()
