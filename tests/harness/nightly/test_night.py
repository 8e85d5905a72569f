"""A night from lock to verdict, with planted checks: regressions, what is unknown, what is skipped. Floor: tests."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest

from harness.nightly import reports
from harness.nightly.checks.contract import NightContext
from harness.nightly.errors import NightUnderWay, NotABaseline, NotANight
from harness.nightly.folder import BASELINE, MOVES, accept, read_night
from harness.nightly.history import HISTORY, read_history
from harness.nightly.lock import OWNER, only_night
from harness.nightly.night import Night, run_night
from harness.nightly.record import CheckResult, NightVerdict, Status
from harness.nightly.regression import SPEED, comparison_names
from harness.nightly.trend import draw_trend
from results.errors import NewerRun
from tests.harness.nightly.nights import Home, Planted, matrix_result, planted, seeds
from tests.results.matrix_builder import matrix

_USUAL = {"bad": seeds(3, 4, 2, 5, 3, 4, 3, 2), "good": seeds(*[0] * 8)}
_RATIOS = (10.0, 10.2, 9.9, 10.1, 10.4)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    """Without figures, which take most of the time; one test draws them."""
    monkeypatch.setattr(reports, "draw_trend", lambda *_: [])
    return Home(tmp_path / "nightly")


def _accepted(home: Home) -> str:
    night = home.night(_USUAL, _RATIOS)
    accept(home.path, night.folder, home.clock.utc_now())
    return night.record.night


def _statuses(night: Night) -> dict[str, Status]:
    return {one.name: one.status for one in night.record.comparisons}


def test_first_night_is_judged_by_expectations_alone_and_says_so(home: Home) -> None:
    night = home.night(_USUAL, _RATIOS)
    assert (night.record.verdict, night.record.baseline, night.record.comparisons) == (NightVerdict.OK, None, ())
    assert night.record.headline == "OK  night 20261130T021700Z: 2 checks passed, no baseline yet"
    assert any("No baseline yet" in note for note in night.record.notes)
    assert not (home.path / BASELINE).exists(), "the baseline never moves by itself"


def test_same_outcomes_as_the_baseline_pass(home: Home) -> None:
    baseline = _accepted(home)
    night = home.night(_USUAL, _RATIOS[::-1])
    assert (night.record.verdict, night.record.baseline) == (NightVerdict.OK, baseline)
    assert night.record.verdict.exit_code == 0
    assert _statuses(night) == {"rate of bad": Status.PASSED, "rate of good": Status.PASSED, SPEED: Status.PASSED}
    assert night.record.comparisons[0].sentence == "the same to the byte"


def test_new_corruption_is_a_regression_without_any_baseline(home: Home) -> None:
    night = home.night({"bad": _USUAL["bad"], "good": seeds(0, 0, 1, 0, 0, 0, 0, 0)}, expect={"good": "clean"})
    assert night.record.verdict is NightVerdict.REGRESSION
    assert night.record.verdict.exit_code == 1
    assert "new corruption: good is expected to be clean and has 1 of 80 sessions corrupted" in night.record.sentence


def test_a_reproduction_that_no_longer_reproduces(home: Home) -> None:
    night = home.night({"bad": seeds(*[0] * 8), "good": _USUAL["good"]}, expect={"bad": "corruption"})
    assert night.record.verdict is NightVerdict.REGRESSION
    assert "no longer reproduces: bad is clean in 80 sessions" in night.record.sentence


def test_a_rate_that_has_moved_is_a_regression_in_both_directions(home: Home) -> None:
    _accepted(home)
    for shift, words in ((-1, "corrupts less than the baseline"), (+3, "corrupts more than the baseline")):
        moved = {seed: max(0, count + shift) for seed, count in _USUAL["bad"].items()}
        night = home.night({"bad": moved, "good": _USUAL["good"]}, _RATIOS)
        (one,) = (one for one in night.record.comparisons if one.name == "rate of bad")
        assert one.status is Status.REGRESSION
        assert one.sentence.startswith(words)
        assert one.p == pytest.approx(2 / 2**8), "eight seeds, all in one direction"
        assert one.p_holm == pytest.approx(3 * 2 / 2**8)
        assert night.record.verdict is NightVerdict.REGRESSION


def test_noise_of_a_rate_is_no_regression(home: Home) -> None:
    _accepted(home)
    moved = seeds(4, 3, 2, 5, 4, 3, 2, 3)
    night = home.night({"bad": moved, "good": _USUAL["good"]}, _RATIOS)
    assert night.record.verdict is NightVerdict.OK


@pytest.mark.parametrize(
    ("ratios", "status"),
    [
        ((12.0, 12.4, 11.9, 12.2, 12.1), Status.REGRESSION),  # each of five slower than each of five: p = 1 / 252
        ((10.3, 10.5, 10.2, 10.3, 10.1), Status.PASSED),  # a little slower, within what the baseline itself varied
        ((8.0, 8.1, 7.9, 8.2, 8.0), Status.PASSED),  # faster
        ((12.0, 9.9, 12.2, 10.0, 12.1), Status.PASSED),  # slower in the median, and not surely
    ],
)
def test_slower_only_beyond_the_measured_noise(home: Home, ratios: tuple[float, ...], status: Status) -> None:
    _accepted(home)
    night = home.night(_USUAL, ratios)
    (one,) = (one for one in night.record.comparisons if one.name == SPEED)
    assert one.status is status
    assert (night.record.verdict is NightVerdict.REGRESSION) is (status is Status.REGRESSION)
    if status is Status.REGRESSION:
        assert one.p == pytest.approx(1 / 252)


def test_another_workload_than_the_baseline_is_not_compared(home: Home) -> None:
    _accepted(home)
    usual = matrix(_USUAL)
    first, *rest = usual.arms
    other = replace(first, configuration={**first.configuration, "workload": {"sessions": 30}})
    moved = replace(usual, arms=(other, *rest))
    check = Planted("matrix", home.clock, lambda _: matrix_result(moved))
    home.clock.next_day()
    night = run_night(home.request([check]))
    (one,) = (one for one in night.record.comparisons if one.name == "rate of bad")
    assert one.status is Status.UNKNOWN
    assert "workload.sessions is 30 and 10; accept a new baseline" in one.sentence
    assert night.record.verdict.exit_code == 4


def test_no_time_left_is_said_and_never_a_pass(home: Home) -> None:
    home.budget_s = 100
    night = home.night(
        _USUAL, (), planted("race", home.clock, Status.PASSED), planted("prove", home.clock, Status.PASSED)
    )
    assert [(check.name, check.status) for check in night.record.checks] == [
        ("matrix", Status.PASSED), ("race", Status.PASSED), ("prove", Status.SKIPPED),
    ]  # fmt: skip
    assert night.record.checks[2].sentence == "no time: the budget of 2 min is used up"
    assert (night.record.verdict, night.record.verdict.exit_code) == (NightVerdict.UNKNOWN, 4)
    assert "prove was skipped (no time" in night.record.sentence


def test_a_check_that_cannot_end_in_time_is_not_begun(home: Home) -> None:
    home.night(_USUAL, (), planted("race", home.clock, Status.PASSED, takes_s=500))
    home.budget_s = 300
    night = home.night(_USUAL, (), planted("race", home.clock, Status.PASSED, takes_s=500))
    assert night.record.checks[1].status is Status.SKIPPED
    assert night.record.checks[1].sentence == "no time: it took 8 min before, and 4 min are left"


def test_a_regression_weighs_more_than_what_was_skipped(home: Home) -> None:
    home.budget_s = 100
    night = home.night(
        _USUAL, (), planted("race", home.clock, Status.REGRESSION), planted("prove", home.clock, Status.PASSED)
    )
    assert night.record.verdict is NightVerdict.REGRESSION


def test_interrupted_night_is_kept_as_partial(home: Home) -> None:
    def interrupt(_: NightContext) -> CheckResult:
        raise KeyboardInterrupt

    night = home.night(_USUAL, (), Planted("race", home.clock, interrupt), planted("prove", home.clock, Status.PASSED))
    assert night.record.partial
    assert [check.status for check in night.record.checks] == [Status.PASSED, Status.UNKNOWN, Status.SKIPPED]
    assert read_night(night.folder) == night.record
    assert read_history(home.path)[0][-1].partial


def test_history_is_only_appended_to_and_says_what_is_damaged(home: Home) -> None:
    home.night(_USUAL, _RATIOS)
    path = home.path / HISTORY
    first = path.read_bytes()
    path.write_bytes(first + b'{"night":"torn')
    night = home.night(_USUAL, _RATIOS)
    assert path.read_bytes().startswith(first)
    rows, faults = read_history(home.path)
    assert [row.night for row in rows] == ["20261130T021700Z", night.record.night]
    assert [fault.line for fault in faults] == [2]
    assert "history.jsonl:2: torn last line" in night.reports["md"].read_text()
    assert rows[1].arms["bad"].corrupted == 26
    assert rows[1].ratio == 10.1


def test_a_night_that_was_killed_is_said_once(home: Home) -> None:
    home.night(_USUAL)
    (home.path / "nights" / "20261201T000000Z").mkdir()
    sentence = "night 20261201T000000Z has left no record: it was killed while it ran"
    assert sentence in home.night(_USUAL).reports["md"].read_text()
    assert sentence not in home.night(_USUAL).reports["md"].read_text()


def test_an_arm_that_is_given_by_its_file_is_called_by_its_name() -> None:
    assert comparison_names(("own/thing.toml", "off_bf16"), ("matrix", "speed")) == (
        "rate of thing", "rate of off_bf16", SPEED,
    )  # fmt: skip
    assert comparison_names(("off_bf16",), ("race",)) == ()


def test_accept_moves_the_baseline_and_notes_it(home: Home) -> None:
    first = _accepted(home)
    night = home.night(_USUAL, _RATIOS)
    record, before = accept(home.path, night.folder, home.clock.utc_now())
    assert (record.night, before.night if before else None) == (night.record.night, first)
    moves = [json.loads(line) for line in (home.path / MOVES).read_text().splitlines()]
    assert [(move["night"], move["before"]) for move in moves] == [(first, None), (night.record.night, first)]


def test_what_cannot_be_the_baseline(home: Home, tmp_path: Path) -> None:
    with pytest.raises(NotANight, match=r"it holds no night\.json"):
        accept(home.path, tmp_path, home.clock.utc_now())
    with pytest.raises(NotANight, match="there is no such folder"):
        accept(home.path, tmp_path / "nowhere", home.clock.utc_now())
    bare = run_night(home.request([planted("race", home.clock, Status.PASSED)]))
    with pytest.raises(NotABaseline, match="it has no matrix"):
        accept(home.path, bare.folder, home.clock.utc_now())
    cut = Planted("matrix", home.clock, lambda _: matrix_result(matrix(_USUAL, partial=True, runs_wanted=99)))
    home.clock.next_day()
    with pytest.raises(NotABaseline, match="its matrix is not whole"):
        accept(home.path, run_night(home.request([cut])).folder, home.clock.utc_now())
    night = home.night(_USUAL)
    path = night.folder / "night.json"
    path.write_text(path.read_text().replace("kvrace-night/1", "kvrace-night/2"))
    with pytest.raises(NewerRun, match="'kvrace-night/2'"):
        accept(home.path, night.folder, home.clock.utc_now())


def test_second_night_is_refused_with_owner_and_age(home: Home) -> None:
    began = home.clock.utc_now()
    with only_night(home.path, began):
        home.clock.now_s += 2 * 3_600 + 300
        owner = json.loads((home.path / OWNER).read_text())
        with pytest.raises(NightUnderWay, match=rf"process {owner['pid']} on .*, for 2 h 5 min\); wait") as refused:
            run_night(home.request([]))
        assert refused.value.exit_code == 3
    assert not (home.path / OWNER).exists()
    home.night(_USUAL)


def test_single_runs_of_old_nights_go_and_records_stay(home: Home) -> None:
    home.keep_nights = 2
    nights = []
    for _ in range(4):
        night = home.night(_USUAL)
        (night.folder / "matrix" / "runs" / "one").mkdir(parents=True)
        nights.append(night.folder)
    home.night(_USUAL)
    assert [(folder / "matrix" / "runs").exists() for folder in nights] == [False, False, False, True]
    assert all((folder / "night.json").exists() for folder in nights)
    assert any("removed the single runs of night 20261130T021700Z" in line for line in home.lines)


def test_reports_say_the_same_verdict(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    _accepted(home)
    monkeypatch.setattr(reports, "draw_trend", draw_trend)
    night = home.night({"bad": _USUAL["bad"], "good": seeds(1, *[0] * 7)}, _RATIOS, expect={"good": "clean"})
    paths = night.reports
    assert paths["verdict"].read_text() == night.record.headline + "\n"
    assert paths["md"].read_text().startswith(f"**REGRESSION** night {night.record.night}: ")
    root = ElementTree.parse(paths["junit"]).getroot()
    failed = [case.get("name") for case in root.iter("testcase") if case.find("failure") is not None]
    assert failed == ["matrix", "good"]
    metrics = paths["prometheus"].read_text()
    assert 'kvrace_nightly_verdict{verdict="regression"} 1.0' in metrics
    assert 'kvrace_nightly_sessions_corrupted{arm="good"} 1.0' in metrics
    page = paths["html"].read_text()
    assert "REGRESSION" in page
    assert page.count("data:image/svg+xml") == 2
    for name in ("report.html", "junit.xml", "metrics.prom", "verdict.txt", "trend.svg"):
        assert (home.path / name).read_bytes() == (night.folder / name).read_bytes()
