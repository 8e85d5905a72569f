"""What a run's verdict becomes, in every place that reads a stored run; and the check in the reports."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from results.findings import Verdict
from results.layout import MANIFEST
from results.oracles.judge import judge_turn
from results.reader import open_run
from results.records import Measured, ServedAlone
from results.report.html.page import render_html
from results.report.markdown import render_markdown
from results.report.model import build_report
from results.serial.record import (
    BaseRate,
    Freshness,
    Pass,
    SerialRecord,
    SerialReply,
    SerialTurn,
    Share,
)
from results.serial.store import RECORD, read_replies, read_serial, write_serial
from results.serial.words import serial_rows
from results.summary import RunSummary, summarise
from results.verdict import RunVerdict
from tests.report.stored import store, story
from tests.results.builders import call, context, manifest, said, turn

RATE = BaseRate(
    Share(2, 48, 0.01, 0.1), Share(3, 20, 0.03, 0.4), Share(1, 40, 0.0, 0.1), Share(1, 20, 0.0, 0.2), -0.02, -0.2, 0.1,
    128,
)  # fmt: skip
HOSTILE = "right when served alone, and under load: | <b>`x`</b> \x1b[31m \u202e"


def record(verdict: Verdict = Verdict.VIOLATED, reason: str = HOSTILE) -> SerialRecord:
    turns = (
        SerialTurn(4, 1, False, True, 2, 0, 0, verdict, reason),
        SerialTurn(5, 1, True, False, 2, 0, None, Verdict.OK, ""),
    )
    return SerialRecord(
        verdict=verdict, reason=reason, is_explained=False, is_trusted=False, sampled=1, sample_wrong_alone=0, wrong=1,
        wrong_asked=1, wrong_alone=0, serial_differs=0, load_repeats_differ=1, load_differs=1, noise_nats=0.02,
        noise_tokens=900, freshness=Freshness.FLUSHED, quiet="the server's own gauge told no running request",
        rescoring="not asked for", turns=turns, base_rate=RATE, requests=6, wall_s=0.4, ended_by="the user's wish",
    )  # fmt: skip


def summary(*, wrong: int = 0, alone: ServedAlone | None = None, of: int = 48, unknown: int = 0) -> RunSummary:
    turns = [turn(session, 0) for session in range(of)]
    turns[:wrong] = [replace(one, tool_calls=(call(guests=44),)) for one in turns[:wrong]]
    turns[wrong : wrong + unknown] = [
        replace(one, finish_reason=None, tool_calls=()) for one in turns[wrong : wrong + unknown]
    ]
    judgements = [judge_turn(one, context()) for one in turns]
    measured = Measured(of, 1.0, "", {"running_max": 9}, alone)
    return summarise(manifest(requires_host_tier=False), turns, judgements, measured=measured, run_dir="")


EXPLAINED = ServedAlone(Verdict.OK, "all are wrong alone as well", is_explained=True)
OPEN = ServedAlone(Verdict.UNKNOWN, "no excess", is_explained=True)
CANNOT = ServedAlone(Verdict.UNKNOWN, "nothing came back", is_explained=False)
CORRUPT = ServedAlone(Verdict.VIOLATED, "1 of 17 turns is corrupt under load", is_explained=False)


@pytest.mark.parametrize(
    ("wrong", "alone", "verdict", "words"),
    [
        (0, None, RunVerdict.CLEAN, "no corruption in 48 turns"),
        (2, None, RunVerdict.CORRUPT, "2 of 48 judged turns are corrupted"),
        (2, CORRUPT, RunVerdict.CORRUPT, "2 of 48 judged turns are corrupted; 1 of 17 turns"),
        (0, CORRUPT, RunVerdict.CORRUPT, "1 of 17 turns is corrupt under load"),
        (2, CANNOT, RunVerdict.CORRUPT, "2 of 48"),
        (2, OPEN, RunVerdict.UNKNOWN, "no excess"),
        (2, EXPLAINED, RunVerdict.CLEAN, "all are wrong alone as well; the other 46 judged turns are right"),
        (3, EXPLAINED, RunVerdict.UNKNOWN, "3 of 48 turns are too many to leave out"),
        # Wrong replies of the check itself: the run had none.
        (0, OPEN, RunVerdict.UNKNOWN, "no excess"),
        # Nobody but the check could have found these out, and it did not have to: the planted answers have judged.
        (0, CANNOT, RunVerdict.CLEAN, "no corruption in 48 turns"),
    ],
)
def test_a_runs_verdict(wrong: int, alone: ServedAlone | None, verdict: RunVerdict, words: str) -> None:
    found = summary(wrong=wrong, alone=alone)
    assert found.verdict is verdict
    assert words in found.verdict_reason
    assert found.turns_corrupted == wrong


def test_nobody_else_could_judge_either() -> None:
    assert summary(unknown=2, wrong=1, alone=EXPLAINED).verdict is RunVerdict.UNKNOWN


def test_another_sessions_secret_is_never_explained() -> None:
    turns = [turn(session, 0) for session in range(48)]
    turns[3] = said("velvet-otter", session=0, number=7)
    judgements = [judge_turn(one, context()) for one in turns]
    measured = Measured(48, 1.0, "", {"running_max": 9}, EXPLAINED)
    found = summarise(manifest(requires_host_tier=False), turns, judgements, measured=measured, run_dir="")
    assert found.kinds == {"cross_talk": 1}
    assert found.verdict is RunVerdict.CORRUPT


def test_record_and_replies_read_back(tmp_path: Path) -> None:
    reply = SerialReply(Pass.ALONE_AGAIN, turn(raw="data: {}\n\n"), judge_turn(turn(), context()))
    assert read_serial(tmp_path) == (None, None)
    write_serial(tmp_path, record(), [reply, reply])
    assert read_serial(tmp_path) == (record(), None)
    assert read_replies(tmp_path) == ([reply, reply], [])
    (tmp_path / RECORD).write_text('{"schema": "kvrace-serial/1", "verdict": "maybe"}')
    found, fault = read_serial(tmp_path)
    assert found is None
    assert fault is not None
    assert "cannot be read" in fault


def test_reports_show_the_check_harmlessly(tmp_path: Path) -> None:
    folder = store(tmp_path, story())
    before = build_report(folder)
    assert before.alone is None
    assert "asked again alone" not in render_markdown(before)
    write_serial(folder, record(), [])
    report = build_report(folder)
    assert report.alone is not None
    markdown, html = render_markdown(report), render_html(report)
    assert "## The same turns, asked again alone" in markdown
    assert "wrong turns of the run: 1, of which 1 were asked again and 0 are wrong alone as well" in markdown
    assert "under load 4.2 % (1.0-10.0 %) wrong, alone 15.0 % (3.0-40.0 %); over the same turns, excess -2.0" in html
    assert "ended early: the user" in markdown
    for text in (markdown, html):
        assert "\x1b" not in text
        assert "\u202e" not in text
        assert "<b>`x`</b>" not in text
    (folder / RECORD).write_text("{")
    assert any("divergence.json" in fault for fault in build_report(folder).faults)


def test_stored_runs_keep_what_the_check_said(tmp_path: Path) -> None:
    folder = store(tmp_path, story(is_clean=True))
    assert build_report(folder).verdict is RunVerdict.CLEAN
    fields = json.loads((folder / MANIFEST).read_text())
    fields["measured"]["served_alone"] = {"verdict": "violated", "reason": CORRUPT.reason, "is_explained": False}
    (folder / MANIFEST).write_text(json.dumps(fields))
    stored = open_run(folder).manifest.measured
    assert stored is not None
    assert stored.served_alone == CORRUPT
    assert build_report(folder).verdict is RunVerdict.CORRUPT


def test_screen_says_a_reason_once() -> None:
    assert serial_rows(None) == []
    shown = dict(serial_rows(record(reason="it is corrupt"), "so: it is corrupt"))
    assert shown["alone"] == "CORRUPT: as said above"
    assert "2 turns (1 OK, 1 CORRUPT), 1 of them by chance" in shown["asked again"]
    assert "excess -2.0 points" in shown["base rate"]
    assert "\x1b" not in serial_rows(record())[0][1]
