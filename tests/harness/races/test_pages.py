"""`--html` of `race` and `replay`, of stored traces too; the accessor in the report; rates; steps that agree.

Owns: `harness.races.pages`, `rates`, `stored_trace`. Does not own: the page in a browser (tests/races/test_page).
Floor: tests. Source: facts/concurrency.md section 6.
"""

from __future__ import annotations

import inspect
import json
import re
from pathlib import Path
from typing import Any

import pytest

from harness.cli.main import main
from harness.races.rates import Sample, rates_sentence, sample
from harness.races.served import small_scenario
from kernels.hicache.access import LayerAccess
from tests.harness.races.program_files import LOAD_AND_READ, written
from tests.races import programs

QUICK = ["--budget", "200", "--mend-schedules", "60"]


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    written(tmp_path, "transfer.py", LOAD_AND_READ)
    return "transfer.py"


def ran(capsys: pytest.CaptureFixture[str], code: int, *arguments: str) -> tuple[str, str]:
    assert main(arguments) == code
    shown = capsys.readouterr()
    return shown.out, shown.err


def test_incident_names_the_index_k_accessor_as_the_place_of_the_wait(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    page = tmp_path / "new" / "race.html"
    out, err = ran(capsys, 1, "race", "--scenario", "short_context", *QUICK, "--html", str(page))
    lines, first = inspect.getsourcelines(LayerAccess.read_index_k)
    match = re.search(r"wait in read_index_k, kernels/hicache/access\.py:(\d+)\n", out)
    assert match is not None, out
    assert first <= int(match[1]) < first + len(lines)
    assert re.search(r"  read +prefill\.r0\.forward .*access\.py:\d+ in read_index_k < forward\.py:\d+\n", out)
    assert re.search(r"waits  prefill\.r0\.ring\[0\]\.layer\[0\] .*access\.py:\d+ in read_main", out)
    assert err.splitlines()[-1] == f"wrote {page}: open it in a browser; it needs no network"
    html = page.read_text(encoding="utf-8")
    assert f"<title>{out.splitlines()[0]}</title>" in html
    for part in ("in read_index_k, kernels/hicache/access.py", "LATE_WAIT", "0 of 60 schedules fail", "virtual cost"):
        assert part in html
    assert re.search(r"\n  rates    random schedules that fail: \d+ of 60 = .* %\); with the wait 0 of 60 \(", out)


def test_race_and_replay_number_the_same_steps(capsys: pytest.CaptureFixture[str]) -> None:
    out, _ = ran(capsys, 1, "race", "--scenario", "short_context", *QUICK)
    token = next(word for word in out.split() if word.startswith("kr1-"))
    again, _ = ran(capsys, 1, "replay", token)

    def steps(text: str) -> list[str]:
        return [
            line for line in text.splitlines() if re.match(r" +\d+   ", line) or "at step" in line or "so  " in line
        ]

    assert len(steps(out)) > 5
    assert steps(again) == steps(out)


def test_json_stays_alone_on_standard_output_and_the_page_is_written(
    capsys: pytest.CaptureFixture[str], program: str, tmp_path: Path
) -> None:
    out, err = ran(capsys, 1, "race", "--program", program, *QUICK, "--json", "--html", "race.html")
    plain: dict[str, Any] = json.loads(out)
    assert err == "wrote race.html: open it in a browser; it needs no network\n"
    (race,) = plain["races"]
    assert race["wait_at"].startswith("wait in load_and_read, transfer.py:")
    assert race["difference"]["stale_pages"][0]["page"] == 0
    assert plain["random_schedules"]["schedules"] == 60
    again, _ = ran(capsys, 1, "replay", race["token"], "--json", "--html", "replay.html")
    assert json.loads(again)["difference"] == race["difference"]
    page = (tmp_path / "replay.html").read_text(encoding="utf-8")
    assert page.count("arrow missing") == 3, "the failing order, the passing one, and all operations"
    ran(capsys, 0, "replay", race["token"], "--with-wait", "--html", "mended.html")
    mended = (tmp_path / "mended.html").read_text(encoding="utf-8")
    assert "<title>HOLDS kr1-" in mended
    assert (mended.count("arrow missing"), mended.count("bar added")) == (0, 1)


def test_wait_that_is_no_fix_is_not_shown_as_one(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    text = "from tests.races.programs import other_thread_waits as program\n"
    path, page = f"{written(tmp_path, 'threads.py', text)}:program", tmp_path / "page.html"
    out, _ = ran(capsys, 1, "race", "--program", path, *QUICK, "--html", str(page))
    assert "  checked  with that edge: NOT A FIX: " in out
    assert 'class="mend broken"' in page.read_text(encoding="utf-8")
    assert "with the wait 0 of 60" not in out


def test_clean_program_has_a_page_without_a_picture(
    capsys: pytest.CaptureFixture[str], program: str, tmp_path: Path
) -> None:
    out, _ = ran(capsys, 0, "race", "--program", f"{program}:fenced", *QUICK, "--html", "clean.html")
    page = (tmp_path / "clean.html").read_text(encoding="utf-8")
    assert f"<title>{out.splitlines()[0]}</title>" in page
    assert out.startswith("CLEAN ")
    assert "class=\"arrow" not in page  # fmt: skip


def test_stored_trace_of_a_machine_has_its_page_with_call_sites(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    trace, page = tmp_path / "trace.jsonl", tmp_path / "page.html"
    tokens = small_scenario("short_context", {}).cache.device_tokens
    small = {"workload.turns_min": 2, "workload.turns_max": 2, "cache.device_tokens": tokens}
    settings = [word for key, value in small.items() for word in ("--set", f"{key}={value}")]
    served = ["--scenario", "short_context", "--sessions", "4", *settings, "--out", str(tmp_path / "runs")]
    main([*served, "--json", "--trace", str(trace)])
    capsys.readouterr()
    out, _ = ran(capsys, 1, "race", "--trace", str(trace), "--html", str(page))
    assert "wait in read_index_k, kernels/hicache/access.py:" in out
    assert re.search(r"\(\d+(,\d+)? B( each)?\)", out.splitlines()[0])
    html = page.read_text(encoding="utf-8")
    assert "not judged from a trace" in html
    assert "microseconds from the first row" in html


@pytest.mark.parametrize(
    ("path", "code", "sentence"),
    [("", 2, "is no path"), (".", 2, "is a folder"), ("transfer.py/race.html", 3, "cannot be written")],
)
def test_page_that_cannot_be_written_is_one_sentence(
    capsys: pytest.CaptureFixture[str], program: str, path: str, code: int, sentence: str
) -> None:
    _, err = ran(capsys, code, "race", "--program", program, *QUICK, "--html", path)
    assert sentence in err
    assert "give --html" in err


def test_rates_are_counted_and_given_with_their_interval() -> None:
    assert sample(programs.gated(2), 7, 50) == Sample(0, 50)
    drawn = sample(programs.ungated(2), 7, 200)
    assert 0 < drawn.failed < 200
    assert sample(programs.ungated(2), 7, 200) == drawn
    # Clopper and Pearson's interval of 4 of 50, from their chart and every table since: 2.2 to 19.2 %.
    assert (
        rates_sentence(Sample(4, 50), None) == "random schedules that fail: 4 of 50 = 8 % (95 % interval 2.22-19.2 %)"
    )
