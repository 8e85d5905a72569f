"""`--backend`, `bench` and `doctor`: what they say, what they refuse, and a race among real threads.

Owns: these options and commands. Does not own: the substrates (tests/substrate). Floor: tests.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from harness.cli.main import main
from kernels.substrate.cuda.devices import is_available
from tests.harness.cli.child import TEST_S
from tests.harness.tiny import TINY

pytestmark = pytest.mark.timeout(TEST_S)

# Longer than a layer's compute even where the threads are starved; the gate must hold all the same.
DELAY = "h2d.index_k=constant:20ms"


def run_json(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, dict[str, Any]]:
    code = main([*words, "--json"])
    return code, json.loads(capsys.readouterr().out)


@pytest.mark.slow
@pytest.mark.parametrize(("gate", "code"), [("false", 1), ("true", 0)])
def test_real_threads_lose_the_race_without_the_gate_and_never_with_it(
    gate: str, code: int, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    trace = tmp_path / "threads.kvt"
    words = ["--scenario", str(TINY), "--seed", "0", "--backend", "threaded", "--out", str(tmp_path)]
    words += ["--delay", DELAY, "--set", f"cache.gate_index_k={gate}", "--trace", str(trace)]
    got, summary = run_json(capsys, *words)
    assert got == code
    assert summary["backend"] == "threaded"
    assert summary["load_backs"] > 0, "nothing was loaded back, so the test shows nothing"
    assert (summary["stale_reads"] > 0) is (code == 1)
    assert (summary["sessions_corrupted"] > 0) is (code == 1)
    judged, verdict = run_json(capsys, "race", "--trace", str(trace))
    assert judged == code
    assert {race["buffer"].rpartition(".")[2].partition("[")[0] for race in verdict["races"]} <= {"index_k"}


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["--backend", "treaded"], 2, "'virtual', 'threaded', 'cuda'"),
        (["--chaos"], 2, "--backend threaded"),
        (["bench", "kernels", "--backend", "threaded"], 2, "allowed: cuda"),
        (["bench", "speed"], 2, "'window'"),
        (["bench", "window", "--trials", "0"], 2, "0"),
    ],
)
def test_a_mistake_is_answered_with_what_is_allowed(
    words: list[str], code: int, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == code
    assert said in capsys.readouterr().err


@pytest.mark.skipif(is_available()[0], reason="this machine has a CUDA device")
@pytest.mark.parametrize("words", [["--backend", "cuda", "--sessions", "2"], ["bench", "kernels"], ["bench", "dose"]])
def test_without_a_device_there_is_one_sentence_and_exit_code_3(
    words: list[str], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    if words[0] != "bench":
        words = [*words, "--out", str(tmp_path)]
    assert main(words) == 3
    assert "; " in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_the_window_opens_where_compute_is_shorter_than_a_load(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    kept = tmp_path / "window.json"
    code, record = run_json(
        capsys, "bench", "window", "--backend", "virtual", "--trials", "2", "--seed", "5", "--out", str(kept)
    )
    assert code == 0
    assert json.loads(kept.read_text()) == record
    bare = {point["compute_us"] / point["load_us"]: point for point in record["points"] if not point["has_gate"]}
    last_layer = {round(ratio, 2): point["stale_share"][-1] for ratio, point in bare.items()}
    assert last_layer[0.5] == 1.0
    assert last_layer[2.0] == 0.0
    assert all(point["trials_with_stale"] == 0 for point in record["points"] if point["has_gate"])


def test_a_delay_opens_the_window_and_the_fence_keeps_it_shut(capsys: pytest.CaptureFixture[str]) -> None:
    code, record = run_json(capsys, "bench", "dose", "--backend", "virtual", "--trials", "2", "--seed", "5")
    assert code == 0
    last_layer = [point["stale_share"][-1] for point in record["points"] if not point["has_gate"]]
    assert last_layer == sorted(last_layer)
    assert (last_layer[0], last_layer[-1]) == (0.0, 1.0)
    assert all(point["trials_with_stale"] == 0 for point in record["points"] if point["has_gate"])


def test_the_doctor_names_what_is_missing_and_how_to_get_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--json"]) == 0
    findings = {finding["what"]: finding for finding in json.loads(capsys.readouterr().out)}
    assert findings["backend virtual"]["is_there"] is True
    missing = [finding for finding in findings.values() if finding["is_there"] is False]
    assert all(finding["remedy"] for finding in missing)
    assert main(["doctor"]) == 0
    assert "backend cuda" in capsys.readouterr().out
