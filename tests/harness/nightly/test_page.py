"""The page of a night in a browser. Floor: tests."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from harness.nightly.folder import accept
from harness.nightly.record import Status
from tests.harness.nightly.nights import Home, planted, seeds

if TYPE_CHECKING:
    from playwright.sync_api import Browser


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_page_works_alone_and_fits(tmp_path: Path, chromium: Browser, scheme: str) -> None:
    home = Home(tmp_path / "nightly")
    usual = {"bad": seeds(3, 4, 2, 5, 3, 4, 3, 2), "<b>good</b>": seeds(*[0] * 8)}
    accept(home.path, home.night(usual, (10.0, 10.2)).folder, home.clock.utc_now())
    moved = {**usual, "bad": seeds(8, 9, 8, 9, 8, 9, 8, 9)}
    night = home.night(moved, (10.0, 10.2), planted("race", home.clock, Status.SKIPPED))
    page = chromium.new_page(viewport={"width": 1000, "height": 800}, color_scheme=scheme)  # type: ignore[arg-type]
    told: list[str] = []
    page.on("console", lambda message: told.append(message.text))
    page.on("requestfailed", lambda request: told.append(request.url))
    page.goto(night.reports["html"].as_uri())
    assert told == []
    assert page.locator(".hero .badge").first.inner_text() == "REGRESSION"
    assert page.locator("section h2").all_inner_texts() == [
        "Checks", "Against the baseline of 20261130T021700Z", "Arms", "The last 2 nights", "Trend",
        "Details and how to repeat",
    ]  # fmt: skip
    assert page.locator("b", has_text="good").count() == 0, "a name is text, not markup"
    widths = page.locator("img.figure").evaluate_all("images => images.map(image => image.naturalWidth)")
    assert len(widths) == 2
    assert all(width > 0 for width in widths)
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
