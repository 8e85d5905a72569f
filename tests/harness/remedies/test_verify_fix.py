"""`verify-fix`: what it prints, its JSON, its exit codes.

Owns: the command, text and figures of a fix. Floor: tests.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from harness.cli.main import main
from harness.remedies.figures import BEFORE, plan_figures
from scenarios.fixes.catalogue import FIXES, fix_named
from tests.harness.search.record_builder import record_for

SHORT = ["--scenario", "short_context", "--quiet"]
FEW = ["--sessions", "6"]


def output(capsys: pytest.CaptureFixture[str], code: int, *arguments: str) -> str:
    assert main(["verify-fix", *arguments]) == code
    return capsys.readouterr().out


def test_list_shows_every_fix_with_what_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    lines = output(capsys, 0, "--list").splitlines()
    assert len(lines) == len(FIXES)
    assert any(line.startswith("gate_layer_before ") and " no fix " in line for line in lines)
    plain = json.loads(output(capsys, 0, "--list", "--json"))
    assert [fix["name"] for fix in plain["fixes"]] == [fix.name for fix in FIXES]


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["--fix", "hope"], "unknown fix 'hope'; allowed: gate_index_k"),
        ([], "give one of --fix NAME, --all and --list"),
        (["--fix", "host_gate", "--all"], "give one of"),
        (["--fix", "host_gate", "--scenario", "nowhere"], "unknown scenario 'nowhere'"),
        (["--fix", "host_gate", "--seeds", "many"], "--seeds 'many'"),
        (["--fix", "host_gate", "--tp", "2"], "set engine.tp = 1"),
        (["--fix", "host_gate", "--budget", "0"], "--budget"),
    ],
)
def test_mistakes_are_one_sentence(arguments: list[str], reason: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify-fix", *arguments]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert reason in shown.err.splitlines()[-1]


def test_a_fix_is_told_with_before_and_after(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    text = output(
        capsys, 0, "--fix", "gate_index_k", "--seeds", "0,", "--jobs", "1", "--out", str(tmp_path), *SHORT, *FEW
    )
    lines = text.splitlines()
    assert lines[0] == "HOLDS gate_index_k on short_context: the race is gone; 1 order, exhausted"
    assert any(line.startswith("  served, watched") and " 0 unordered pairs" in line for line in lines)
    assert any(line.startswith("  first token, median") and line.count(" ms") == 2 for line in lines)
    assert "  open     swa, c4, c128: the same slip, a read in front of its layer's gate, races" in lines
    assert lines[-1].endswith(" --fix gate_index_k --seeds 0, --set workload.sessions=6")


def test_what_is_no_fix_ends_with_1_and_says_why(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--fix", "gate_layer_before", "--seeds", "none", *SHORT]
    plain: dict[str, Any] = json.loads(output(capsys, 1, *arguments, "--json"))
    assert (plain["verdict"], plain["code"], plain["as_expected"]) == ("not a fix", "WRONG_EVENT", True)
    assert "is covered by" in plain["because"]
    assert plain["after"]["token"].startswith("kr1-")
    assert plain["after"]["served_unordered_pairs"] > 0
    assert main(["replay", plain["after"]["token"]]) == 1


def test_several_fixes_are_one_table(capsys: pytest.CaptureFixture[str]) -> None:
    names = "ring_of_one_late_records,gate_index_k"
    lines = output(capsys, 0, "--fix", names, "--seeds", "none", *SHORT).splitlines()
    assert lines[0] == "2 of 2 verdicts are what the catalogue expects"
    assert any(line.startswith("ring_of_one_late_records  not a fix  WRONG_EVENT") for line in lines)
    assert lines[-1].endswith(f" --fix {names} --seeds none")


def test_a_program_stands_for_what_the_cache_cannot_show(capsys: pytest.CaptureFixture[str]) -> None:
    text = output(capsys, 1, "--fix", "ring_of_one_late_records", "--seeds", "none", *SHORT)
    assert text.startswith("NOT A FIX ring_of_one_late_records on a program of its own: WRONG_EVENT on load.done[")
    assert "clean, 2 orders, exhausted" in text


def test_figures_are_means_over_the_seeds_of_each_arm() -> None:
    plan = plan_figures("hicache_bf16", {}, [fix_named("gate_index_k"), fix_named("ring_of_one_late_records")], [3, 4])
    assert list(plan.arms) == [BEFORE, "gate_index_k"]
    assert plan.arms["gate_index_k"].scenario.cache.gate_index_k
    records = {
        job.key: record_for(job, corrupted=job.seed - 3, ttft_ms_p50=float(job.seed), turns_per_s=None)
        for job in plan.jobs
    }
    figures = plan.figures(records)
    assert figures[BEFORE].ttft_ms_p50 == pytest.approx(3.5)
    assert figures[BEFORE].turns_per_s is None
    assert figures[BEFORE].sessions.rate == pytest.approx(0.05)
