"""The checks themselves: a child with a deadline, what an exit code means, the yardstick. Floor: tests."""

from __future__ import annotations

import signal
import threading
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness.nightly.checks import REGISTRY
from harness.nightly.checks.contract import NightContext
from harness.nightly.checks.looking import EXPECT_CLEAN, EXPECT_KILLED, EXPECT_RACES, CommandCheck, Expectation
from harness.nightly.checks.matrix import MATRIX_FOLDER, MatrixCheck
from harness.nightly.checks.speed import RATIOS, WALL, SpeedCheck, yardstick_s
from harness.nightly.child import Ended, run_command
from harness.nightly.clock import WallNightClock
from harness.nightly.config import DEFAULT_CONFIG, load_config
from harness.nightly.record import Status
from results.matrix.folder import write_matrix
from tests.harness.cli.child import TEST_S
from tests.harness.nightly.nights import HandClock, seeds
from tests.results.matrix_builder import Corrupted, matrix

pytestmark = pytest.mark.timeout(TEST_S)

_CONFIG = load_config(DEFAULT_CONFIG, tuple(check.name for check in REGISTRY))


class Commands:
    """Commands that are not run: each ends as it was planned, after five seconds of a clock that is moved by hand."""

    def __init__(self, *planned: Ended) -> None:
        self.clock = HandClock()
        self.asked: list[list[str]] = []
        self._planned = list(planned)

    def __call__(self, words: Sequence[str], /, **_: Any) -> Ended:
        self.asked.append(list(words))
        self.clock.now_s += 5.0
        return self._planned.pop(0)

    def night(self, folder: Path) -> NightContext:
        return NightContext(_CONFIG, folder, self.clock, lambda: 100.0, 2, lambda _: None, self)


def _ended(code: int, last_words: str = "", **changes: Any) -> Ended:
    return replace(Ended(code, '{"an": "object"}', last_words, 5.0, False, False), **changes)


def _words(_: object) -> list[str]:
    return ["race", "--scenario", "hicache_bf16"]


@pytest.mark.parametrize(
    ("expectation", "ended", "status", "sentence"),
    [
        (EXPECT_RACES, _ended(1), Status.PASSED, "the race is found, as expected"),
        (EXPECT_RACES, _ended(0), Status.REGRESSION, "no longer reproduces: no race is found"),
        (EXPECT_RACES, _ended(4), Status.UNKNOWN, "it could not judge (exit code 4)"),
        (EXPECT_CLEAN, _ended(0), Status.PASSED, "clean, as expected"),
        (EXPECT_CLEAN, _ended(1), Status.REGRESSION, "new finding where everything was clean"),
        (EXPECT_CLEAN, _ended(70, "error: a bug"), Status.UNKNOWN, "it ended with exit code 70: error: a bug"),
        (EXPECT_CLEAN, _ended(-9), Status.UNKNOWN, "it ended with exit code -9: it said nothing"),
        (EXPECT_CLEAN, _ended(0, is_late=True), Status.UNKNOWN, "the budget ended first"),
        (EXPECT_CLEAN, _ended(0, is_interrupted=True), Status.UNKNOWN, "it was interrupted"),
        (
            EXPECT_KILLED,
            _ended(4),
            Status.REGRESSION,
            "a mutant survives: an order that the program relies on can go unseen",
        ),
    ],
)
def test_what_an_exit_code_means(
    tmp_path: Path, expectation: Expectation, ended: Ended, status: Status, sentence: str
) -> None:
    commands = Commands(ended)
    night = commands.night(tmp_path)
    result = CommandCheck("race", _words, expectation).run(night)
    assert (result.name, result.status, result.sentence) == ("race", status, sentence)
    assert commands.asked == [[*_words(None), "--json"]]
    assert (tmp_path / "race.out").read_text() == '{"an": "object"}'
    assert night.is_interrupted is ended.is_interrupted


def _matrix_check(folder: Path, ended: Ended, corrupted: Corrupted | None, **changes: Any) -> Any:
    if corrupted is not None:
        (folder / MATRIX_FOLDER).mkdir()
        write_matrix(folder / MATRIX_FOLDER, matrix(corrupted, **changes))
    return MatrixCheck().run(Commands(ended).night(folder))


def test_matrix_that_did_as_expected(tmp_path: Path) -> None:
    result = _matrix_check(tmp_path, _ended(1), {"bad": seeds(1, 2), "good": seeds(0, 0)})
    assert (result.status, result.sentence) == (Status.PASSED, "all 2 arms as expected over 2 seeds")


def test_matrix_cut_off_by_the_budget_is_unknown_but_new_corruption_counts(tmp_path: Path) -> None:
    silent = {"partial": True, "runs_wanted": 20, "expect": {"bad": "corruption"}}
    result = _matrix_check(tmp_path, _ended(130, is_late=True), {"bad": seeds(0), "good": seeds(0)}, **silent)
    assert (result.status, result.sentence) == (Status.UNKNOWN, "only 2 of 20 runs were made, the budget ended first")
    (tmp_path / "again").mkdir()
    struck = {"partial": True, "runs_wanted": 20, "expect": {"good": "clean"}}
    result = _matrix_check(tmp_path / "again", _ended(130, is_late=True), {"good": seeds(1)}, **struck)
    assert result.status is Status.REGRESSION


def test_matrix_that_crashed_is_unknown(tmp_path: Path) -> None:
    result = _matrix_check(tmp_path, _ended(3, "error: the disk is full"), None)
    assert result.status is Status.UNKNOWN
    assert result.sentence == "the matrix ended with exit code 3: error: the disk is full"


def test_speed_is_measured_between_yardsticks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("harness.nightly.checks.speed.yardstick_s", lambda _: 0.5)
    commands = Commands(*[_ended(1)] * 5)
    result = SpeedCheck().run(commands.night(tmp_path))
    assert result.samples == {WALL: (5.0,) * 5, RATIOS: (10.0,) * 5}
    assert (result.status, result.figures[RATIOS]) == (Status.PASSED, 10.0)
    cut = SpeedCheck().run(Commands(_ended(1), _ended(130, is_late=True)).night(tmp_path))
    assert (cut.status, cut.sentence) == (Status.UNKNOWN, "measured 1 of 5 times: the budget ended first")


def test_yardstick_takes_the_time_of_its_clock() -> None:
    class Ticking(HandClock):
        def elapsed_s(self) -> float:
            self.now_s += 0.25
            return self.now_s

    assert yardstick_s(Ticking()) == 0.25


def test_registry_names_are_those_of_the_documentation() -> None:
    names = [check.name for check in REGISTRY]
    assert len(set(names)) == len(names)
    text = Path("docs/nightly.md").read_text(encoding="utf-8")
    assert all(f"`{name}`" in text for name in names)


def test_child_that_ends(tmp_path: Path) -> None:
    lines: list[str] = []
    clock = WallNightClock()
    ended = run_command(["list", "--jsonn"], log=tmp_path / "log", timeout_s=120, clock=clock, on_line=lines.append)
    assert (ended.code, ended.out, ended.is_late) == (2, "", False)
    assert ended.last_words.startswith("error: No such option")
    assert (tmp_path / "log").read_text().strip() == ended.last_words
    assert lines[-1] == ended.last_words


def test_child_that_would_not_end_by_itself_is_asked_to(tmp_path: Path) -> None:
    """`serve` ends 0 on a polite request; the deadline is over when it says that it is up."""
    clock = WallNightClock()
    ended = run_command(["serve", "--json"], log=tmp_path / "log", timeout_s=3, clock=clock, on_line=lambda _: None)
    assert ended.is_late
    assert ended.code in (0, 130, -signal.SIGINT)
    assert threading.active_count() == 1
