"""Figures name their axes and draw what is there; frames hold every row; trends find what was planted.

Floor: tests.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from results.errors import NotARun
from results.frames import chosen_matrix, chosen_run, point_frame, rate_frame, stale_read_frame
from results.reader import open_run
from results.report.model import build_report
from results.report.parts import Report, State, TurnPoint
from results.report.slides import races, rates, times
from results.report.slides.picture import Picture
from results.report.trends import trend_of, trend_words
from tests.report.stored import live, store, store_matrix, story

SLIDES: dict[str, Callable[[Report], Picture]] = {
    "rates": rates.rates,
    "depth": lambda report: rates.over(report, "time", "turn", "context"),
    "dose": lambda report: rates.over(report, "load", "stale"),
    "time lines": times.time_lines,
    "latencies": times.latencies,
    "staying sound": times.staying_sound,
    "stale layers": races.stale_layers,
}


def words_of(picture: Picture) -> list[str]:
    return [text.get_text() for axes in picture.figure.axes for text in axes.texts]


@pytest.mark.parametrize("name", SLIDES)
def test_slides_label_their_axes(name: str, tmp_path: Path) -> None:
    picture = SLIDES[name](build_report(store(tmp_path, story())))
    axes = picture.figure.axes
    assert all(one.get_title(loc="left") for one in axes)
    assert axes[-1].get_xlabel()
    assert name == "rates" or all(one.get_ylabel() for one in axes)
    saved = picture.save(tmp_path / "slide.svg").read_text()
    assert saved.startswith("<?xml")


def test_rates_draw_each_arm_with_its_interval(tmp_path: Path) -> None:
    picture = rates.rates(build_report(store_matrix(tmp_path)))
    (axes,) = picture.figure.axes
    assert [label.get_text() for label in axes.get_yticklabels()] == ["broken", "mended"]
    assert "4 of 24: 12.3 % (3.5-45.7 %)" in words_of(picture)
    ends = [np.asarray(path.vertices)[:, 0].tolist() for bars in axes.collections for path in bars.get_paths()]
    assert ends == [pytest.approx([0.0345, 0.4567]), pytest.approx([0.0, 0.789])]
    seeds = rates.seeds(build_report(tmp_path))
    assert len(seeds.figure.axes[0].lines) == 2 + 2, "a line a seed, a set of marks an arm"


def test_slides_say_what_is_missing(tmp_path: Path) -> None:
    report = build_report(store(tmp_path, live(story()), counters={}, times_are_virtual=False))
    assert "No stale read was recorded" in words_of(races.stale_layers(report))[0]
    assert "common seeds" in words_of(rates.seeds(report))[0]
    assert "tells its stale" in words_of(rates.over(report, "stale"))[0]
    empty = build_report(store(tmp_path, [], session_count=0))
    for draw in SLIDES.values():
        assert words_of(draw(empty)) or draw(empty).figure.axes


def test_frames_hold_every_row(tmp_path: Path) -> None:
    path = store(tmp_path, story())
    reads = stale_read_frame(open_run(path))
    assert reads[["session", "turn", "is_corrupted", "layer", "pages", "torn", "late_us"]].to_numpy().tolist() == [
        [4, 1, True, 7, 4, 1, 212.4],
        [4, 1, True, 9, 1, 0, 18.0],
    ]
    assert re.match(r"The race window of index_k", races.lateness(reads).figure.axes[0].get_title(loc="left"))
    report = build_report(path)
    points, rows = point_frame(report), rate_frame(report)
    assert len(points) == 48
    assert points.groupby("state").size().to_dict() == {"corrupted": 2, "sound": 45, "unknown": 1}
    assert rows.query("by == 'turn'")["events"].sum() == 2
    assert stale_read_frame(open_run(store(tmp_path, live(story())))).empty


def test_the_newest_run_or_the_named_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KVRACE_RUN", raising=False)
    with pytest.raises(NotARun, match=r"python run\.py"):
        chosen_run(tmp_path)
    matrix = store_matrix(tmp_path / "matrices" / "gate")
    run = store(tmp_path, story())
    assert chosen_run(tmp_path) == run
    assert chosen_matrix(tmp_path) == matrix
    monkeypatch.setenv("KVRACE_RUN", "elsewhere")
    assert chosen_run(tmp_path) == Path("elsewhere")


def point(session: int, state: State) -> TurnPoint:
    return TurnPoint(session, 0, state, None, 0.0, None, None, None, None, None, 1, None, None)


@pytest.mark.parametrize("slope", [0.4, 0.0])
def test_a_trend_finds_the_slope_that_was_planted_and_none_where_there_is_none(slope: float) -> None:
    rng = np.random.default_rng(7)
    known = []
    for session in range(600):
        dose = float(rng.integers(0, 12))
        is_struck = rng.random() < 1 / (1 + np.exp(3 - slope * dose))
        known.append((0, point(session, State.CORRUPTED if is_struck else State.SOUND), dose))
    curve = trend_of(known)
    assert curve is not None
    (term,) = curve.terms
    assert term.low < slope < term.high
    assert (term.p < 0.001) is bool(slope)
    assert trend_words(curve, 1.0, "step").startswith("1 more step: the odds are multiplied by ")


def test_no_trend_is_claimed_from_a_few_corrupted_turns() -> None:
    known = [(0, point(number, State.CORRUPTED if number < 4 else State.SOUND), float(number)) for number in range(90)]
    assert trend_of(known) is None
