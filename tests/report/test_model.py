"""A report says what the stored turns come to, counted here by hand. Floor: tests."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from results.report.bins import bins_of
from results.report.gather import gather_run
from results.report.model import build_report
from results.report.parts import Bins, State, TurnPoint
from results.report.points import run_part
from tests.report.stored import COUNTERS, live, store, store_matrix, story
from tests.results.builders import machine, turn


def bins_named(found: tuple[Bins, ...], name: str) -> Bins:
    return next(bins for bins in found if bins.name == name)


def test_a_run_is_counted(tmp_path: Path) -> None:
    report = build_report(store(tmp_path, story()))
    (arm,) = report.arms
    assert (report.verdict, report.exit_code, report.partial, report.faults) == ("corrupt", 1, False, ())
    assert (arm.sessions.events, arm.sessions.units, arm.turns.events, arm.turns.units) == (2, 12, 2, 47)
    assert (arm.turns_unknown, arm.unknown_kinds) == (1, {"cut_stream": 1})
    assert {row.kind: (row.turns.events, row.sessions.events) for row in arm.kinds} == {
        "token_salad": (1, 1),
        "damaged_arguments": (1, 1),
    }
    assert arm.origins == {"primary": 1, "secondary": 1}
    assert (arm.proof.load_backs, arm.proof.loaded_bytes) == (COUNTERS["load_backs"], COUNTERS["loaded_bytes"])
    assert (arm.proof.host_hit_turns, arm.proof.turns, arm.proof.stale_reads) == (48, 48, 96)
    assert all(check.passed for check in arm.proof.checks)


def test_a_zero_says_what_it_leaves_open(tmp_path: Path) -> None:
    report = build_report(store(tmp_path, story(is_clean=True)))
    (arm,) = report.arms
    assert report.verdict == "clean"
    assert arm.sessions.open_words is not None
    # 1 - 0.05 ** (1 / 12) = 22.1 %, which two digits round up.
    assert arm.sessions.open_words.startswith("0 of 12 sessions leave rates up to 23 % open")
    assert (report.evidence, report.evidence_total) == ((), 0)


def test_points_know_times_load_and_depth(tmp_path: Path) -> None:
    part = run_part(gather_run(store(tmp_path, story())))
    at = {(point.session, point.turn): point for point in part.points}
    salad = at[4, 1]
    assert (salad.state, salad.kind, salad.sent_s, salad.ttft_s) == (State.CORRUPTED, "token_salad", 14.0, 0.25)
    assert salad.itl_ms == pytest.approx(1_250 / 23)
    assert (salad.prompt_tokens, salad.loaded_tokens, salad.stale_layers, salad.wrong_at) == (21_004, 20_480, 18, 0)
    assert at[11, 3].state is State.UNKNOWN
    # `book_table {"restaurant": "Lindenhof", "guests": 4` agrees, and the 45th character does not.
    assert at[9, 2].wrong_at == len('book_table {"restaurant": "Lindenhof", "guests": 4')


def in_flight_by_definition(points: list[TurnPoint], point: TurnPoint) -> int:
    """Sent, and not yet ended, at the instant when `point` is sent; without any sorting."""
    return sum(
        other.sent_s <= point.sent_s and (other is point or (other.end_s is not None and other.end_s > point.sent_s))
        for other in points
    )


def test_load_is_the_number_of_open_requests(tmp_path: Path) -> None:
    turns = story()
    turns[5] = replace(turns[5], finished_ns=None, first_token_ns=None)
    points = list(run_part(gather_run(store(tmp_path, turns))).points)
    assert [point.in_flight for point in points] == [in_flight_by_definition(points, point) for point in points]
    assert len({point.in_flight for point in points}) > 1


def test_bins_hold_every_judged_turn_once(tmp_path: Path) -> None:
    part = run_part(gather_run(store(tmp_path, story())))
    for bins in bins_of([part], "hicache_bf16"):
        assert sum(one.turns.units for one in bins.bins) == 47, bins.name
        assert sum(one.turns.events for one in bins.bins) == 2, bins.name
    by_turn = bins_named(bins_of([part], "hicache_bf16"), "turn")
    assert [(one.label, one.turns.events, one.turns.units) for one in by_turn.bins] == [
        ("0", 0, 12),
        ("1", 1, 12),
        ("2", 1, 12),
        ("3", 0, 11),
    ]
    stale = bins_named(bins_of([part], "hicache_bf16"), "stale")
    assert [(one.label, one.turns.events, one.turns.units) for one in stale.bins] == [("0", 1, 46), ("18", 1, 1)]


def test_evidence_shows_where_texts_part(tmp_path: Path) -> None:
    salad, damaged = build_report(store(tmp_path, story())).evidence
    assert (salad.session, salad.turn, salad.kind, salad.origin) == (4, 1, "token_salad", "primary")
    assert salad.race[0] == "its prefill made 96 stale page reads (7 torn) of index_k, in 18 layers"
    assert salad.raw == 'data: {"reply": 4}\n\n'
    assert (damaged.kind, damaged.origin) == ("damaged_arguments", "secondary")
    assert [(piece.mark, piece.text) for piece in damaged.difference][1] == ("new", "4")
    # The wrong byte is the second 4 of 44, at offset 50; the dump begins 16 bytes before its line.
    assert damaged.byte_lines[0].startswith("000020  ")
    assert damaged.byte_lines[1].startswith("000030  20 34 34 2c 20")


def test_a_matrix_quotes_its_record(tmp_path: Path) -> None:
    report = build_report(store_matrix(tmp_path))
    broken, mended = report.arms
    assert report.faults == ()
    assert (report.verdict, report.is_matrix, report.focus) == ("corrupt", True, "broken")
    assert (broken.sessions.rate, broken.sessions.low, broken.sessions.high) == (0.1234, 0.0345, 0.4567)
    assert (broken.p, broken.p_holm, broken.control) == (0.0123, 0.0246, "mended")
    assert (mended.sessions.open_bound, mended.caveat) == (0.678, "only 2 clusters")
    assert {row.kind: row.turns.events for row in broken.kinds} == {"token_salad": 2, "damaged_arguments": 2}
    assert [(row.key, row.values) for row in report.differing] == [("cache.gate_index_k", ("false", "true"))]
    assert report.evidence_total == 4
    assert {card.seed for card in report.evidence} == {1, 2}
    assert sum(one.turns.events for one in bins_named(report.bins, "turn").bins) == 4


def test_a_live_run_leaves_open_what_nobody_told(tmp_path: Path) -> None:
    path = store(tmp_path, live(story()), counters={}, times_are_virtual=False, requires_host_tier=False)
    report = build_report(path)
    (arm,) = report.arms
    assert report.verdict == "corrupt"
    proof = arm.proof
    assert (proof.load_backs, proof.loaded_bytes, proof.host_hit_turns, proof.stale_reads) == (None,) * 4
    assert {bins.name for bins in report.bins} >= {"time", "turn", "context"}
    assert not {bins.name for bins in report.bins} & {"loaded", "stale"}
    assert "time" in report.assumption


def test_an_empty_run_has_a_report(tmp_path: Path) -> None:
    report = build_report(store(tmp_path, [], session_count=0))
    assert (report.verdict, report.bins, report.arms[0].sessions.rate) == ("unknown", (), None)


def test_an_arm_that_must_not_load_back_is_caught_when_it_does(tmp_path: Path) -> None:
    quiet = [turn(session, 0, machine=machine(host_hit_tokens=0)) for session in range(2)]
    off = build_report(store(tmp_path, quiet, requires_host_tier=False, counters={"load_backs": 0}))
    on = build_report(store(tmp_path, quiet, requires_host_tier=False, counters={"load_backs": 3}))
    for report, passed in ((off, True), (on, False)):
        checks = {check.name: check.passed for check in report.arms[0].proof.checks}
        assert checks["The host tier was off"] is passed
