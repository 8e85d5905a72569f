"""All formats say the same figures, and each is well-formed to a reader that is not ours. Floor: tests."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pandas as pd
import pytest
from prometheus_client.parser import text_string_to_metric_families

from results.errors import StorageProblem
from results.report.formats import DEFAULT_FORMATS, FILE_NAMES, TEXT_FORMATS, write_report, write_reports
from results.report.model import build_report
from results.report.parts import Report
from results.report.rate_table import RATE_SCHEMA
from tests.report.stored import SALAD, store, store_matrix, story
from tests.results.builders import said, stale_machine, turn


def suites(report: Report) -> dict[str, ElementTree.Element]:
    root = ElementTree.fromstring(TEXT_FORMATS["junit"](report))
    return {str(suite.get("name")): suite for suite in root.iter("testsuite")}


def samples(report: Report) -> dict[tuple[str, ...], float]:
    families = text_string_to_metric_families(TEXT_FORMATS["prometheus"](report))
    return {
        (sample.name, *(value for _, value in sorted(sample.labels.items()))): sample.value
        for family in families
        for sample in family.samples
    }


def test_every_format_has_the_figures_of_a_matrix(tmp_path: Path) -> None:
    report = build_report(store_matrix(tmp_path))
    paths = write_reports(report, tmp_path, FILE_NAMES)
    assert sorted(path.name for path in paths.values()) == sorted(FILE_NAMES.values())
    for name in ("html", "md"):
        text = paths[name].read_text()
        for figure in ("12.3 %", "3.5-45.7 %", "4 of 24", "0.0123", "0.0246", "+12.3 pp", "only 2 clusters"):
            assert figure in text, (name, figure)
        assert "0 of 24 sessions leave rates up to 12 % open" in text
        assert "python run.py matrix --seeds 2" in text
    told = json.loads(paths["json"].read_text())
    broken = told["arms"][0]
    assert (broken["sessions"]["rate"], broken["p"], broken["p_holm"]) == (0.1234, 0.0123, 0.0246)
    assert "points" not in told["runs"][0]
    found = samples(report)
    assert found["kvrace_corrupted_ratio", "broken", "session"] == 0.1234
    assert found["kvrace_corrupted_ratio_bound", "broken", "high", "session"] == 0.4567
    assert found["kvrace_open_ratio", "mended", "session"] == 0.678
    assert found["kvrace_p_vs_control", "broken", "mended", "holm"] == 0.0246
    assert found["kvrace_verdict", "corrupt"] == 1
    assert found["kvrace_corrupted_turns", "broken", "token_salad"] == 2
    frame = pd.read_parquet(paths["parquet"])
    row = frame[(frame.arm == "broken") & (frame.unit == "session") & (frame.by == "all")].iloc[0]
    assert (row.rate, row.low, row.high, row.p, row.events, row.units) == (0.1234, 0.0345, 0.4567, 0.0123, 4, 24)
    assert list(frame.columns) == RATE_SCHEMA.names


def test_junit_passes_an_arm_that_reproduces_as_it_must(tmp_path: Path) -> None:
    found = suites(build_report(store_matrix(tmp_path)))
    claims = {name: suite.find("testcase") for name, suite in found.items()}
    assert {name: case.get("name") for name, case in claims.items() if case is not None} == {
        "broken": "reproduces the corruption",
        "mended": "no corruption",
    }
    assert all(suite.get("failures") == "0" for suite in found.values())


def test_junit_fails_a_corrupt_run_and_skips_what_was_not_judged(tmp_path: Path) -> None:
    (suite,) = suites(build_report(store(tmp_path, story()))).values()
    failure = suite.find("testcase/failure")
    assert failure is not None
    assert "2 of 12 sessions: 16.7 %, 95 % 2.1-48.4 %" in str(failure.get("message"))
    assert "session 4 turn 1: token salad" in str(failure.text)
    assert [suite.get(name) for name in ("tests", "failures", "errors", "skipped")] == ["7", "1", "0", "1"]


@pytest.mark.parametrize(
    ("counters", "tag"), [({"load_backs": 0, "loaded_bytes": 0}, "error"), ({"loaded_bytes": 9}, "skipped")]
)
def test_junit_never_passes_what_was_not_exercised(counters: dict[str, float], tag: str, tmp_path: Path) -> None:
    """A check that failed is an error; one that nobody could make is skipped."""
    (suite,) = suites(build_report(store(tmp_path, story(is_clean=True), counters=counters))).values()
    case = next(case for case in suite if case.get("name") == "Pages were loaded back")
    assert case.find(tag) is not None


def test_prometheus_has_no_sample_of_what_is_not_known(tmp_path: Path) -> None:
    known = samples(build_report(store(tmp_path, story(is_clean=True))))
    unknown = samples(build_report(store(tmp_path, story(is_clean=True), counters={})))
    key = ("kvrace_loaded_bytes", "hicache_bf16")
    assert known[key] == 9_600_000_000
    assert key not in unknown
    assert known["kvrace_open_ratio", "hicache_bf16", "session"] == pytest.approx(0.95)


HOSTILE = [
    '</script><script>window.owned = 1</script><img src="x" onerror="window.owned = 1">',
    "]]></failure></testcase>&amp;\x00\x1b[2J\ufffe\ud800",
    "```\n# not a heading\n| a | b |\n```" + "\u202e" + "reversed",
    "\u05e9\u05dc\u05d5\u05dd \u0645\u0631\u062d\u0628\u0627 " * 20,
    "x" * 100_000,
    SALAD + " `" * 50,
]


def hostile_run(root: Path) -> Path:
    turns = [
        said(text, session=number, number=0, machine=stale_machine(), raw=f"data: {text}\n\n")
        for number, text in enumerate(HOSTILE)
    ]
    return store(root, [*turns, turn(len(HOSTILE), 0)])


@pytest.mark.parametrize("name", TEXT_FORMATS)
def test_hostile_replies_break_no_format(name: str, tmp_path: Path) -> None:
    report = build_report(hostile_run(tmp_path))
    assert report.evidence_total == len(HOSTILE)
    path = write_report(report, tmp_path / FILE_NAMES[name], name)
    text = path.read_bytes().decode("utf-8")
    assert "\x00" not in text
    assert "\u202e" not in text
    read: dict[str, Callable[[str], object]] = {
        "json": json.loads,
        "junit": ElementTree.fromstring,
        "prometheus": lambda text: list(text_string_to_metric_families(text)),
    }
    read.get(name, str)(text)
    if name == "html":
        assert "<script" not in text.lower()
        assert "<img" not in text.lower()


def test_markdown_fences_cannot_be_closed_from_inside(tmp_path: Path) -> None:
    text = TEXT_FORMATS["md"](build_report(hostile_run(tmp_path)))
    fence, outside = "", []
    for line in text.splitlines():
        if fence:
            fence = "" if line == fence else fence
        elif line.startswith("```"):
            fence = line.rstrip("tex")
        else:
            outside.append(line)
    assert not fence, "every block is closed"
    assert "# not a heading" not in outside
    assert "# not a heading" in text


def test_a_report_that_cannot_be_written_says_where(tmp_path: Path) -> None:
    report = build_report(store(tmp_path, story()))
    with pytest.raises(StorageProblem, match="nowhere"):
        write_report(report, tmp_path / "nowhere" / "report.html", "html")
    assert set(DEFAULT_FORMATS) < set(FILE_NAMES)
