"""The page in a real browser: silent, no requests, readable in light, dark and print, by keyboard, whatever it holds.

Floor: tests. Source: contrast after WCAG 2.2; colour vision after Machado, Oliveira and Fernandes (2009), severity 1.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from results.report.formats import write_report
from results.report.model import build_report
from tests.report.stored import live, store, store_matrix, story
from tests.report.test_formats import hostile_run

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

STYLE = (Path(__file__).parents[2] / "results" / "report" / "html" / "style.css").read_text()
WIDTHS = (1280, 1024)
OVERFLOW = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
FOCUSED = """() => { const it = document.activeElement;
    return [it.tagName, it.textContent.slice(0, 40), getComputedStyle(it).outlineStyle]; }"""
SPILLED = """() => [...document.querySelectorAll('section, .tile, .card-body, pre, table, figure, dd')]
    .filter(element => !element.closest('.scroll') && element.getBoundingClientRect().right > innerWidth + 1)
    .map(element => element.tagName + ' ' + element.className + ' ' + element.textContent.slice(0, 40))"""


def page_of(folder: Path, name: str = "page") -> Path:
    return write_report(build_report(folder), folder.parent / f"{name}.html", "html")


def opened(chromium: Browser, path: Path, noises: list[str], *, scheme: str = "light", width: int = 1280) -> Page:
    page = chromium.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)  # type: ignore[arg-type]
    page.on("console", lambda message: noises.append(f"console: {message.text}"))
    page.on("pageerror", lambda error: noises.append(f"error: {error}"))
    page.on("request", lambda request: noises.append(f"request: {request.url}"))
    page.goto(path.as_uri())
    return page


def test_pages_are_silent_and_fit(chromium: Browser, tmp_path: Path) -> None:
    live_run = store(tmp_path / "c", live(story()), counters={}, times_are_virtual=False)
    pages = {
        "matrix": page_of(store_matrix(tmp_path / "b"), "matrix"),
        "live": page_of(live_run, "live"),
        "empty": page_of(store(tmp_path / "d", [], session_count=0), "empty"),
        "hostile": page_of(hostile_run(tmp_path / "e"), "hostile"),
    }
    for name, path in pages.items():
        noises: list[str] = []
        for width, scheme in ((WIDTHS[0], "light"), (WIDTHS[1], "dark")):
            page = opened(chromium, path, noises, scheme=scheme, width=width)
            page.evaluate("document.querySelectorAll('details').forEach(details => details.open = true)")
            assert page.evaluate(OVERFLOW) == 0, (name, width)
            assert page.evaluate(SPILLED) == [], (name, width)
            assert page.evaluate("typeof window.owned") == "undefined", name
            assert page.evaluate("document.scripts.length + document.images.length") == 0, name
            page.close()
        assert noises == [f"request: {path.as_uri()}"] * 2, name


def test_the_verdict_comes_first_figures_are_drawn_and_the_theme_follows_the_system(
    chromium: Browser, tmp_path: Path
) -> None:
    page = opened(chromium, page_of(store(tmp_path, story())), [])
    assert page.inner_text("main section:first-of-type .badge") == "CORRUPT"
    assert page.inner_text("h1") == "hicache_bf16, seed 1"
    drawn = page.eval_on_selector_all("figure.plot", "figures => figures.map(figure => figure.id)")
    assert {"plot-forest", "plot-kinds", "plot-time", "plot-turn", "plot-reply", "plot-load", "plot-stale"} <= set(
        drawn
    )
    assert {"plot-ttft-0", "plot-itl-0", "plot-loads-0", "plot-lanes-0"} <= set(drawn)
    # Two corrupted turns: a cross each in the time lines, a box each in the lanes, a card each.
    assert page.locator("#plot-ttft-0 g.bad").count() == 2
    assert page.locator("#plot-lanes-0 rect.bad").count() == 2
    assert page.locator("#evidence details.card").count() == 2
    assert page.inner_text("#evidence ins >> nth=2").strip() == "4"
    ids = page.eval_on_selector_all("[id]", "elements => elements.map(element => element.id)")
    assert len(ids) == len(set(ids))
    backs = []
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        backs.append(
            sum(map(int, re.findall(r"\d+", page.evaluate("getComputedStyle(document.body).backgroundColor"))))
        )
    assert backs[0] > 3 * 200, "light"
    assert backs[1] < 3 * 50, "dark"
    unnamed = page.eval_on_selector_all("svg[role=img]", "all => all.filter(one => !one.querySelector('title, desc'))")
    assert unnamed == []


def test_everything_can_be_reached_by_keyboard(chromium: Browser, tmp_path: Path) -> None:
    page = opened(chromium, page_of(store(tmp_path, story())), [])
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    assert page.locator(".skip").bounding_box()["x"] >= 0  # type: ignore[index]
    reached = []
    for _ in range(34):
        page.keyboard.press("Tab")
        tag, text, outline = page.evaluate(FOCUSED)
        if tag == "BODY":
            break
        assert outline != "none", (tag, text)
        reached.append((tag, text))
    assert [text for tag, text in reached if tag == "A"][:3] == ["Verdict", "Rates", "Kinds"]
    assert sum(tag == "SUMMARY" for tag, _ in reached) >= 8
    assert sum(tag == "DIV" for tag, _ in reached) >= 2, "tables that may scroll"
    card = page.locator("#evidence details.card").first
    was_open = card.evaluate("card => card.open")
    card.locator("summary").first.focus()
    page.keyboard.press("Enter")
    assert card.evaluate("card => card.open") is not was_open


def test_print_shows_closed_cards_and_no_navigation(chromium: Browser, tmp_path: Path) -> None:
    page = opened(chromium, page_of(store(tmp_path, story())), [], scheme="dark")
    page.evaluate("document.querySelectorAll('details').forEach(details => details.open = false)")
    body = page.locator("#evidence .card-body").first
    assert not body.is_visible()
    page.emulate_media(media="print")
    assert not page.locator("nav").is_visible()
    assert body.evaluate("body => body.checkVisibility({contentVisibilityAuto: true}) && body.offsetHeight > 50")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert page.pdf(format="A4").startswith(b"%PDF")


def themes() -> dict[str, dict[str, str]]:
    """Colour variables of the light and the dark theme."""
    light, dark = re.findall(r":root \{(.*?)\n\s*\}", STYLE, re.DOTALL)[:2]
    read = [dict(re.findall(r"--([a-z-]+): (#[0-9a-f]{6})", block)) for block in (light, dark)]
    return {"light": read[0], "dark": read[0] | read[1]}


def linear(colour: str) -> np.ndarray:
    channels = np.array([int(colour[place : place + 2], 16) for place in (1, 3, 5)]) / 255
    return np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)


def contrast(one: str, other: str) -> float:
    dark, light = sorted(float(linear(colour) @ (0.2126, 0.7152, 0.0722)) for colour in (one, other))
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_text_and_marks_can_be_seen(theme: str) -> None:
    colours = themes()[theme]
    texts = [("ink", "card"), ("ink", "page"), ("soft", "card"), ("soft", "page"), ("ink", "code"), ("ok", "card")]
    texts += [(f"{name}-ink", f"{name}-back") for name in ("clean", "corrupt", "unknown")]
    texts += [("ink", "gone-back"), ("ink", "new-back")]
    for front, back in texts:
        assert contrast(colours[front], colours[back]) >= 4.5, (theme, front, back)
    for mark in ("ok", "bad", "unknown", "loaded"):
        assert contrast(colours[mark], colours["card"]) >= 2.5, (theme, mark)


MACHADO = {
    "protan": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deutan": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    "tritan": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
}


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("vision", MACHADO)
def test_sound_and_corrupted_differ_for_every_colour_vision(theme: str, vision: str) -> None:
    colours, matrix = themes()[theme], np.array(MACHADO[vision])
    sound, corrupted = (np.clip(matrix @ linear(colours[name]), 0, 1) ** (1 / 2.2) for name in ("ok", "bad"))
    assert float(np.linalg.norm(sound - corrupted)) > 0.35
