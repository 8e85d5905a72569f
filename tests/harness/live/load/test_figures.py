"""What a load came to, counted by hand."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from harness.live.load.figures import load_figures, load_lines
from results import parquet
from results.digest import digest_of
from results.findings import Judgement, Kind, Origin, Verdict
from results.records import LoadMark, TurnRecord
from tests.results.builders import turn

OK, BAD = Verdict.OK, Verdict.VIOLATED


def judged(one: TurnRecord, verdict: Verdict) -> tuple[TurnRecord, Judgement]:
    kind, origin = (Kind.WRONG_CALL, Origin.UNOBSERVED) if verdict is BAD else (None, None)
    return one, Judgement(one.session, one.turn, verdict, kind, origin, ())


def marked(session: int, number: int, mark: LoadMark, *, cached: int | None = None, sent_ns: int = 0) -> TurnRecord:
    return turn(session, number, load=mark, cached_tokens=cached, prompt_tokens=1_000, sent_ns=sent_ns)


def test_phases_come_in_their_order_with_what_was_cached() -> None:
    cold, back = LoadMark(phase="cold"), LoadMark(phase="return")
    counted = [
        judged(marked(0, 2, back, cached=800, sent_ns=9), BAD),
        judged(marked(0, 0, cold, cached=0, sent_ns=1), OK),
        judged(marked(1, 2, back, cached=600, sent_ns=8), OK),
        judged(marked(1, 0, cold, cached=None, sent_ns=2), Verdict.UNKNOWN),
        judged(turn(2, 0), OK),
    ]
    aside = [
        judged(marked(3, 0, LoadMark(is_warm_up=True)), BAD),
        judged(marked(3, 1, LoadMark(is_warm_up=True)), OK),
        judged(marked(4, 0, LoadMark(phase="cold", is_warm_up=True, hung_up="queued")), Verdict.UNKNOWN),
        judged(marked(4, 1, LoadMark(hung_up="queued")), Verdict.UNKNOWN),
    ]
    found = load_figures(counted, aside, too_late=2)
    assert list(found.phases) == ["cold", "return"]
    cold_found, back_found = found.phases.values()
    assert (cold_found.turns, cold_found.judged, cold_found.corrupted, cold_found.cached_tokens) == (2, 1, 0, 0.0)
    assert (back_found.turns, back_found.judged, back_found.corrupted, back_found.cached_tokens) == (2, 2, 1, 700.0)
    assert (found.warm_up_turns, found.warm_up_corrupted, found.hung_up, found.too_late) == (2, 1, {"queued": 2}, 2)
    assert found.counters() == {
        "warm_up_turns": 2, "warm_up_corrupted": 1, "hung_up_turns": 2, "hung_up_too_late": 2,
    }  # fmt: skip
    assert load_lines(found) == [
        ("cold", "0 of 1 judged turns corrupted, 0 cached tokens of 1,000 on average"),
        ("return", "1 of 2 judged turns corrupted, 700 cached tokens of 1,000 on average"),
        ("warm-up", "1 of 2 turns corrupted; in no rate or latency"),
        ("hung up", "2 queued (not judged); 2 replies were quicker and count"),
    ]


def test_plain_load_has_nothing_to_say() -> None:
    found = load_figures([judged(turn(0, 0), OK)], [], too_late=0)
    assert (found.counters(), load_lines(found)) == ({}, [])


def test_marks_are_stored_and_are_part_of_the_outcome(tmp_path: Path) -> None:
    plain, mark = turn(0, 0, raw=None), LoadMark(phase="return", hung_up="prefill")
    turns = [plain, replace(turn(0, 1, raw=None), load=mark)]
    parquet.write_table(parquet.turn_table(turns, []), tmp_path / "turns.parquet")
    assert parquet.read_turns(tmp_path / "turns.parquet") == turns
    unmarked = [replace(one, load=None) for one in turns]
    assert digest_of(turns, "", times_are_virtual=True) != digest_of(unmarked, "", times_are_virtual=True)
