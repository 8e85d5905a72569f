"""The page in a real browser: the red arrow, what pointing shows, keys, dark mode, hostile labels, no network.

Owns: `report.html` with its style and script. Does not look at pixels' beauty. Floor: tests.
Source: facts/concurrency.md section 6 (what a report holds).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from kernels.races.report.html import page_html
from kernels.races.report.page_model import Note, Page, race_section, three_verdicts
from kernels.races.search.explore import explore
from kernels.substrate.contract import Machine, Region

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Dialog
    from playwright.sync_api import Page as Tab

HOSTILE = "</title><script>document.body.dataset.taken = 'yes'</script><img src=x onerror=\"alert(1)\">\t'&amp;"
PAGES = np.arange(3, dtype=np.int64)


def get_index_k(pool: Any) -> Region:
    return Region(pool, (0,), PAGES)


def hostile(machine: Machine) -> None:
    """A race whose labels, event and buffer want to be markup; eight lanes, and a second, folded race."""
    host = machine.buffer("host.k", space="host", layer_count=2, page_count=3, page_bytes=64)
    device = machine.buffer(f"k{HOSTILE}", space="device:0", layer_count=2, page_count=3, page_bytes=64)
    load, compute = machine.stream("load", device=0), machine.stream(f"compute{HOSTILE}", device=0)
    loaded = machine.event(f"loaded{HOSTILE}")
    for layer in range(2):
        source, target = (Region(buffer, (layer,), PAGES) for buffer in (host, device))
        load.copy(source, target, point="h2d.index_k", label=f"load[{layer}] {HOSTILE}", layer=layer)
    load.record(loaded)
    reads = [get_index_k(device)]
    compute.launch("indexer[0]", duration_ns=9, read_ns=9, point="compute.layer", reads=reads, layer=0)
    second = [Region(device, (1,), PAGES)]
    compute.launch("indexer[1]", duration_ns=9, read_ns=9, point="compute.layer", reads=second, layer=1)
    for number in range(6):
        other = machine.stream(f"other{number}", device=0)
        for step in range(30):
            other.launch(f"kernel {step}", duration_ns=1, point="compute.layer")


@pytest.fixture(scope="module")
def html() -> str:
    result = explore(hostile, budget=60, mend_schedules=20, has_call_sites=True)
    sections = tuple(race_section(report, spell=str) for report in result.races) * 2
    notes = (Note("served", (HOSTILE,)),)
    return page_html(Page(sections[0].line, three_verdicts(result), sections, (f"FAILS {HOSTILE}",), notes))


class Visit:
    """A page that is open, with what it said and what it asked the network for."""

    def __init__(self, browser: Browser, file: Path, scheme: str, width: int) -> None:
        dark: Any = scheme
        self.tab: Tab = browser.new_page(viewport={"width": width, "height": 800}, color_scheme=dark)
        self.said: list[str] = []
        self.asked: list[str] = []
        self.tab.on("console", lambda message: self.said.append(message.text))
        self.tab.on("pageerror", lambda error: self.said.append(str(error)))
        self.tab.on("dialog", self._refuse)
        self.tab.on("request", lambda request: self.asked.append(request.url))
        self.tab.goto(file.as_uri())

    def _refuse(self, dialog: Dialog) -> None:
        self.said.append(dialog.message)
        dialog.dismiss()


@pytest.fixture
def visit(chromium: Browser, html: str, tmp_path: Path) -> Iterator[Any]:
    file = tmp_path / "race.html"
    file.write_text(html, encoding="utf-8")
    visits: list[Visit] = []

    def opened(scheme: str = "light", width: int = 1280) -> Tab:
        visits.append(Visit(chromium, file, scheme, width))
        return visits[-1].tab

    yield opened
    for one in visits:
        assert one.said == []
        # The empty icon lies in the page itself.
        assert [url for url in one.asked if not url.startswith("data:")] == [file.as_uri()]


# A browser takes a second to start, so each test looks at several things.


def test_red_arrow_joins_the_right_bars_and_labels_stay_text(visit: Any) -> None:
    tab: Tab = visit()
    check_arrow(tab)
    check_labels(tab)
    check_folding(tab)


def test_pointing_and_arrow_keys_tell_footprint_and_call_site_and_the_token_is_copied(visit: Any) -> None:
    tab: Tab = visit()
    check_pointing(tab)
    check_keys(tab)
    check_copying(tab)


def test_nothing_runs_over_the_side_and_all_views_can_be_opened(visit: Any) -> None:
    for width in (1280, 1024):
        check_width(visit(width=width))


def check_arrow(tab: Tab) -> None:
    arrow = tab.locator(".view:visible .arrow.missing")
    assert arrow.count() == 1
    ends = [
        tab.locator(f".view:visible .bar[data-key='{arrow.get_attribute(f'data-{end}')}']") for end in ("from", "to")
    ]
    assert ["WRITE" in (end.text_content() or "") for end in ends] == [True, False]
    assert ["READ STALE" in (end.text_content() or "") for end in ends] == [False, True]
    line = arrow.locator("path").first
    color = line.evaluate("path => getComputedStyle(path).stroke")
    red, green, blue = map(int, re.findall(r"\d+", color)[:3])
    assert red > 150 > max(green, blue) + 50
    # Where the line really is, in pixels: its ends touch the two bars.
    ends_of_line = line.evaluate(
        "path => [0, path.getTotalLength()].map(at => {"
        " const point = path.getPointAtLength(at).matrixTransform(path.getScreenCTM()); return [point.x, point.y]; })"
    )
    for (x, y), bar in zip(ends_of_line, ends, strict=True):
        box = bar.locator("rect").bounding_box()
        assert box is not None
        assert box["x"] - 2 <= x <= box["x"] + box["width"] + 2
        assert box["y"] - 2 <= y <= box["y"] + box["height"] + 2


def check_folding(tab: Tab) -> None:
    """Only the first race is open; the others are one line each."""
    assert tab.locator(".arrow.missing:visible").count() == 1
    tab.locator("details.other > summary").click()
    assert tab.locator(".arrow.missing:visible").count() == 2


def check_pointing(tab: Tab) -> None:
    tip = tab.locator("#tip")
    assert tip.is_hidden()
    tab.locator(".view:visible .bar.racing.stale").hover()
    told = tip.text_content() or ""
    for wanted in (f"k{HOSTILE} layer 0, pages 0-2", "indexer[0]", "outside", "in get_index_k", "in hostile"):
        assert wanted in told
    tab.locator("h1").hover()
    assert tip.is_hidden()


def check_keys(tab: Tab) -> None:
    tip = tab.locator("#tip")
    tab.locator(".view:visible .scroll").focus()
    tab.keyboard.press("ArrowDown")
    assert "indexer[0]" in tip.inner_text()
    tab.keyboard.press("ArrowLeft")
    assert "load[0]" in tip.inner_text()
    tab.keyboard.press("Escape")
    assert tip.is_hidden()


def check_width(tab: Tab) -> None:
    names = ["Failing order", "Nearest passing order", "All operations"]
    assert tab.locator(".views").first.locator("label").all_inner_texts() == names
    for name in names:
        tab.get_by_text(name, exact=True).first.click()
        assert tab.locator(".view:visible").first.get_attribute("data-view") == name
        assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth")
    # Nine lanes and two hundred operations scroll inside their frame.
    frame = tab.locator(".view:visible .scroll").first
    assert frame.evaluate("pane => pane.scrollWidth > pane.clientWidth && pane.scrollHeight > pane.clientHeight")
    assert tab.locator(".view:visible .bar.racing").first.is_visible()


def check_labels(tab: Tab) -> None:
    assert tab.evaluate("document.body.dataset.taken") is None
    assert tab.locator("img").count() == 0
    assert tab.locator("script").count() == 1
    title = " ".join(tab.title().split())
    assert title.startswith("RACE k</title><script>")
    assert " ".join(tab.locator("h1").inner_text().split()) == title


def test_dark_mode_is_dark_and_both_can_be_read(visit: Any) -> None:
    shades = {}
    for scheme in ("light", "dark"):
        tab: Tab = visit(scheme)
        colors = tab.evaluate(
            "(({backgroundColor, color}) => [backgroundColor, color])(getComputedStyle(document.body))"
        )
        ground, ink = (sum(map(int, re.findall(r"\d+", color)[:3])) / 3 for color in colors)
        shades[scheme] = ground
        assert abs(ground - ink) > 150, (scheme, colors)
        bar = tab.locator(".view:visible .bar.racing text").last.evaluate("text => getComputedStyle(text).fill")
        assert abs(sum(map(int, re.findall(r"\d+", bar)[:3])) / 3 - ground) > 100
    assert shades["light"] > 200 > 60 > shades["dark"]


def check_copying(tab: Tab) -> None:
    token = tab.locator(".token code").first.inner_text()
    tab.locator("button.copy").first.click()
    tab.wait_for_function("document.querySelector('button.copy').textContent !== 'copy token'")
    assert tab.evaluate("getSelection().toString().trim()") == token
    assert token.startswith("kr1-")
