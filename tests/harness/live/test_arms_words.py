"""What the comparison of live servers tells: its options, its progress, its table. Floor: tests."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from harness.cli.main import main
from harness.live.arms import ArmsProgress, ArmsRun, run_arms
from harness.live.arms_record import ArmBlock, arms_record
from harness.live.arms_screen import arms_screen
from harness.live.target import Target
from results.matrix.record import MatrixRecord
from results.report.model import build_report
from results.verdict import RunVerdict
from tests.harness.live.fault_server import MODEL, FaultServer, answers_of
from tests.harness.live.live_requests import SEED, request, workload_of
from tests.harness.live.test_arms_and_probe import SIZES, Knowing, in_a_thread

SERVER = "http://127.0.0.1:1/v1"


class _Fields:
    """Something with just these fields."""

    def __init__(self, **fields: Any) -> None:
        self.__dict__.update(fields)


def _block(arm: str, block: int, corrupted: int) -> ArmBlock:
    summary = _Fields(
        sessions=6, sessions_judged=6, sessions_corrupted=corrupted, session_rate=corrupted / 6, turns=18,
        turns_corrupted=corrupted, kinds={}, run_dir="", digest=f"{arm}{block}", wall_s=1.0, counters={},
        verdict=RunVerdict.CORRUPT if corrupted else RunVerdict.CLEAN, verdict_reason="as it is",
    )  # fmt: skip
    beside = _Fields(log=[], liveness=_Fields(bad_words=list))
    manifest = _Fields(configuration={"server": {"base_url": SERVER}})
    result: Any = _Fields(summary=summary, beside=beside, manifest=manifest, lag=_Fields(p99=None))
    return ArmBlock(arm, block, result)


def _record(on: list[int], off: list[int]) -> MatrixRecord:
    requests = [request(SERVER, target=Target(name, SERVER)) for name in ("on", "off")]
    done = [
        _block(arm, block, count) for arm, counts in (("on", on), ("off", off)) for block, count in enumerate(counts)
    ]
    return arms_record(requests, done, blocks=len(on), began="2026-11-29T17:55:12+00:00", ended_by=None)


def test_equal_differences_have_no_interval() -> None:
    (one,) = _record([2, 3], [0, 1]).comparisons
    assert one.difference == pytest.approx(1 / 3)
    assert (one.ci95, one.p, one.decided) == (None, 0.5, False)
    assert one.reason == "every block differs by the same, so no interval can be given"
    (one,) = _record([2, 4], [0, 1]).comparisons
    assert one.ci95 is not None
    assert one.ci95[0] < one.ci95[1]
    assert _record([2, 3], [2, 3]).comparisons[0].reason == "no block differs, so no interval can be given"


def test_live_arms_expect_nothing() -> None:
    record = _record([2, 3], [0, 0])
    assert record.expectations_hold is None
    assert [(arm.expect, arm.expectation_held) for arm in record.arms] == [("", None)] * 2
    shown = arms_screen(record)
    assert shown.startswith("CORRUPT  2 arms x 2 blocks, 24 sessions: 1 of 2 arms corrupted: on\n")
    assert not [word for word in ("expect", "scenario", "seed,", "host hits", "switch") if word in shown]
    assert "| on - off | 2 | +41.7 points | " in " ".join(shown.split())
    assert "however much the sessions of one block hang together" in shown


def test_one_block_is_one_and_none_is_not_counted() -> None:
    record = _record([0], [0])
    assert "no corruption in 6 sessions of 1 block" in {arm.verdict_reason for arm in record.arms}
    assert any(note.startswith("1 block cannot decide any comparison") for note in record.notes)
    assert [arm.caveat for arm in _record([], []).arms] == [None, None]


def test_progress_names_arm_and_block_and_counts_all_blocks(tmp_path: Path) -> None:
    seen: list[ArmsProgress] = []
    answers = [answers_of(workload_of(request("", seed=seed))) for seed in (SEED, SEED + 1)]
    with in_a_thread(FaultServer(answers[0] | answers[1])) as server:
        requests = [request(server.url, target=Target(name, server.url)) for name in ("on", "off")]
        arms = ArmsRun(requests, blocks=2, out=tmp_path, on_progress=seen.append)
        run_arms(arms, on_loop=lambda _: None)
    assert list(dict.fromkeys(told.where for told in seen)) == [
        "on, block 1 of 2", "off, block 1 of 2", "off, block 2 of 2", "on, block 2 of 2",
    ]  # fmt: skip
    ended = [told.run.load.turns_ended for told in seen]
    assert ended == sorted(ended)
    assert (seen[-1].run.load.turns_ended, seen[-1].run.load.turns_total) == (96, 96)
    assert seen[-1].run.load.sessions_ended == 32
    report = build_report(arms.folder)
    assert report.title == "2 arms over 2 blocks of time"
    assert report.assumption.startswith("The independent unit is the block of time")
    assert not [note for note in report.notes if "scenario" in note]


def test_every_block_has_lines_of_progress(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    seeds = range(SEED, SEED + 2)
    with in_a_thread(FaultServer(Knowing(seeds, 0))) as one, in_a_thread(FaultServer(Knowing(seeds, 0))) as other:
        main(["stress", "--arm", f"on={one.url}", "--arm", f"off={other.url}", "--model", MODEL, "--blocks", "2",
              *SIZES, "--json", "--out", str(tmp_path)])  # fmt: skip
    shown = capsys.readouterr()
    lines = [line for line in shown.err.splitlines() if " turns, " in line]
    for where in ("on, block 1 of 2: ", "off, block 1 of 2: ", "off, block 2 of 2: ", "on, block 2 of 2: "):
        assert any(line.startswith(where) for line in lines), (where, shown.err)
    assert " of 72 turns, " in lines[-1]
    assert "--blocks 2" in json.loads(shown.out)["repeat"]


def test_blocks_without_arms_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["stress", "--base-url", SERVER, "--blocks", "3"]) == 2
    shown = capsys.readouterr()
    assert "--blocks belongs to --arm" in shown.err
    assert (shown.err.count("\n"), shown.out) == (1, "")


def test_a_folder_that_cannot_be_made_is_told_before_anything_is_sent(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("in the way")
    with in_a_thread(FaultServer({})) as server:
        assert main(["stress", "--base-url", server.url, *SIZES, "--out", str(tmp_path / "file" / "runs")]) == 3
    assert "file/runs" in capsys.readouterr().err
    assert server.heads == []
