"""Counts, verdicts, exit codes and digests of a run. Floor: tests."""

from __future__ import annotations

import json
from dataclasses import replace

import msgspec
import pytest

from results.digest import digest_of
from results.findings import Judgement, Kind, Origin
from results.records import MachineEvidence, TurnRecord
from results.stats.arm_rate import arm_rate
from results.stats.intervals import clopper_pearson
from results.summary import RunSummary, summarise
from results.verdict import RunVerdict
from tests.results.builders import EXPECTED, judged, machine, manifest, measured, stale_machine, turn

Told = list[tuple[int, int, Kind | None]]

TEN_SESSIONS: Told = [
    *((session, number, None) for session in range(10) for number in range(4) if (session, number) not in
      {(2, 1), (2, 3), (5, 0), (7, 2), (8, 3)}),
    (2, 1, Kind.WRONG_CALL),
    (2, 3, Kind.TOKEN_SALAD),
    (5, 0, Kind.TOKEN_SALAD),
    (7, 2, Kind.CUT_STREAM),
    (8, 3, Kind.TRANSPORT_ERROR),
]  # fmt: skip


def summed(told: Told, evidence: dict[tuple[int, int], MachineEvidence] | None = None, **changes: object) -> RunSummary:
    turns = [turn(session, number, machine=(evidence or {}).get((session, number))) for session, number, _ in told]
    judgements = [
        judged(session, number, kind, None if evidence is None else _origin(evidence.get((session, number))))
        for session, number, kind in told
    ]
    counters = changes.pop("counters", {})
    return summarise(
        manifest(**changes),
        turns,
        judgements,
        measured=replace(measured(len(turns)), counters=counters),  # type: ignore[arg-type]
        run_dir="results/runs/x",
    )


def _origin(evidence: MachineEvidence | None) -> Origin:
    if evidence is None:
        return Origin.UNOBSERVED
    return (
        Origin.PRIMARY if evidence.stale_reads else Origin.SECONDARY if evidence.poisoned_reads else Origin.UNEXPLAINED
    )


def test_sessions_and_turns_are_counted_by_kind() -> None:
    summary = summed(TEN_SESSIONS)
    assert (summary.sessions, summary.sessions_judged, summary.sessions_corrupted) == (10, 10, 2)
    assert (summary.turns, summary.turns_judged, summary.turns_corrupted, summary.turns_unknown) == (40, 38, 3, 2)
    assert summary.kinds == {"token_salad": 2, "wrong_call": 1}
    assert summary.session_kinds == {"token_salad": 1, "wrong_call": 1}, "by the first corrupted turn"
    assert summary.unknown_kinds == {"cut_stream": 1, "transport_error": 1}
    assert summary.session_rate == 0.2
    assert summary.turn_rate == 3 / 38


def test_intervals_are_those_of_the_statistics() -> None:
    summary = summed(TEN_SESSIONS)
    exact = clopper_pearson(2, 10)
    assert summary.session_ci95 == (exact.low, exact.high)
    clustered = arm_rate([0, 0, 2, 0, 0, 1, 0, 0, 0, 0], [4, 4, 4, 4, 4, 4, 4, 3, 3, 4])
    assert summary.turn_ci95 == (clustered.low, clustered.high)
    salad = arm_rate([0, 0, 1, 0, 0, 1, 0, 0, 0, 0], [4, 4, 4, 4, 4, 4, 4, 3, 3, 4])
    assert summary.kind_ci95["token_salad"] == (salad.low, salad.high)


def test_the_order_of_turns_does_not_matter() -> None:
    assert summed(TEN_SESSIONS) == summed(TEN_SESSIONS[::-1])


def test_evidence_of_the_machine_is_added_up() -> None:
    told: Told = [(0, 0, None), (0, 1, Kind.TOKEN_SALAD), (1, 0, Kind.TOKEN_SALAD), (2, 0, Kind.LOST_CALL)]
    evidence = {
        (0, 0): machine(),
        (0, 1): stale_machine(decode_stale_reads=2),
        (1, 0): machine(poisoned_reads=5, host_hit_tokens=0),
        (2, 0): machine(host_hit_tokens=0),
    }
    summary = summed(told, evidence, counters={"load_backs": 3, "loaded_bytes": 4096, "evictions": 9})
    assert (summary.host_hit_turns, summary.load_backs, summary.loaded_bytes) == (2, 3, 4096)
    assert (summary.stale_reads, summary.torn_reads, summary.poisoned_reads) == (96, 7, 5)
    assert summary.decode_stale_reads == 2
    assert summary.counters == {"evictions": 9, "load_backs": 3, "loaded_bytes": 4096}
    assert summary.origins == {"primary": 1, "secondary": 1, "unexplained": 1, "unobserved": 0}
    assert summary.session_origins == summary.origins


def test_a_session_that_poisoned_itself_is_primary() -> None:
    """Its first turn read stale keys and still answered right; the second read what the first had written."""
    told: Told = [(0, 0, None), (0, 1, Kind.TOKEN_SALAD), (1, 0, None), (1, 1, Kind.TOKEN_SALAD)]
    poisoned = machine(poisoned_reads=5)
    evidence = {(0, 0): stale_machine(), (0, 1): poisoned, (1, 0): machine(), (1, 1): poisoned}
    summary = summed(told, evidence)
    assert summary.origins["secondary"] == 2
    assert (summary.session_origins["primary"], summary.session_origins["secondary"]) == (1, 1)


def test_without_machine_evidence_the_servers_counter_is_taken() -> None:
    assert summed([(0, 0, None)], counters={"host_hit_turns": 1}).host_hit_turns == 1


SOUND: Told = [(session, 0, None) for session in range(40)]
HITS = {(session, 0): machine() for session in range(40)}
NO_HITS = {(session, 0): machine(host_hit_tokens=0) for session in range(40)}


@pytest.mark.parametrize(
    ("told", "evidence", "load_backs", "code", "reason"),
    [
        (
            SOUND,
            HITS,
            5,
            0,
            "no corruption in 40 turns of 40 sessions: rates up to 7.3 % are open if sessions are independent",
        ),
        ([*SOUND, (40, 0, Kind.LOST_CALL)], HITS, 0, 1, "1 of 41 judged turns are corrupted"),
        ([], HITS, 5, 4, "no turn was run, so nothing could be judged"),
        ([(0, 0, Kind.CUT_STREAM)], HITS, 5, 4, "none of the 1 turns could be judged"),
        ([*SOUND, *((50, n, Kind.CUT_STREAM) for n in range(2))], HITS, 5, 0, "no corruption in 40 turns of 40 sess"),
        ([*SOUND, *((50, n, Kind.CUT_STREAM) for n in range(3))], HITS, 5, 4, "3 of 43 turns could not be judged"),
        (SOUND, HITS, 0, 4, "the path was not exercised: nothing was loaded back from the host tier"),
        (SOUND, NO_HITS, 5, 4, "the path was not exercised: no turn's prompt hit the host tier"),
    ],
)
def test_a_clean_verdict_needs_judged_turns_and_an_exercised_path(
    told: Told, evidence: dict[tuple[int, int], MachineEvidence], load_backs: int, code: int, reason: str
) -> None:
    summary = summed(told, evidence, counters={"load_backs": load_backs}, requires_host_tier=True)
    assert summary.exit_code() == code
    assert summary.verdict_reason.startswith(reason)


def test_an_arm_without_a_host_tier_is_clean_without_load_backs() -> None:
    summary = summed(SOUND, NO_HITS, requires_host_tier=False)
    assert (summary.verdict, summary.exit_code()) == (RunVerdict.CLEAN, 0)


def test_the_json_has_what_users_were_promised_and_is_plain() -> None:
    plain = msgspec.json.decode(msgspec.json.encode(summed(TEN_SESSIONS).as_json()))
    promised = "scenario seed backend sessions sessions_corrupted session_rate session_ci95 turns turns_corrupted kinds"
    promised += (
        " load_backs loaded_bytes host_hit_turns stale_reads torn_reads decode_stale_reads wall_s digest run_dir"
    )
    promised += " partial verdict origins"
    assert set(promised.split()) <= plain.keys()
    assert plain == json.loads(json.dumps(summed(TEN_SESSIONS).as_json(), default=str))
    assert json.loads(json.dumps(summed([]).as_json()))["session_rate"] is None, "no NaN, which is no JSON"


def test_one_judgement_for_each_turn_is_demanded() -> None:
    with pytest.raises(AssertionError, match="one judgement a turn"):
        summarise(manifest(), [turn(0, 0)], [], measured=measured(1), run_dir="x")


@pytest.mark.parametrize(
    ("change", "is_same"),
    [
        ({"raw": "data: {}"}, True),
        ({"content": "x"}, False),
        ({"cached_tokens": 1}, False),
        ({"machine": machine()}, False),
        ({"finish_reason": None}, False),
        ({"expected": replace(EXPECTED, arguments={})}, False),
        ({"tool_calls": (replace(turn().tool_calls[0], id="call_9"),)}, True),
        ({"tool_calls": (replace(turn().tool_calls[0], arguments="{}"),)}, False),
    ],
)
def test_the_digest_covers_the_outcome_and_nothing_else(change: dict[str, object], is_same: bool) -> None:
    one, other = [turn(0, 0), turn(1, 0)], [turn(0, 0), turn(1, 0, **change)]
    assert (digest(one) == digest(other)) is is_same


def test_times_belong_to_the_digest_only_where_they_are_virtual() -> None:
    later = [turn(0, 0, finished_ns=9)]
    assert digest([turn(0, 0)], virtual=True) != digest(later, virtual=True)
    assert digest([turn(0, 0)], virtual=False) == digest(later, virtual=False)


def test_the_digest_is_of_the_set_of_turns_and_of_the_trace() -> None:
    turns = [turn(0, 0), turn(0, 1), turn(1, 0)]
    assert digest(turns) == digest(turns[::-1])
    assert digest(turns) != digest(turns[:2])
    assert digest(turns) != digest_of(turns, "other trace", times_are_virtual=True)
    thought = [replace(turns[0], reasoning="Let me see."), *turns[1:]]
    assert digest(turns) != digest(thought)
    assert len(digest(turns)) == 32
    assert digest([turn(content="half \ud83d")]) != digest([turn(content="half")])


def digest(turns: list[TurnRecord], *, virtual: bool = True) -> str:
    return digest_of(turns, "trace", times_are_virtual=virtual)


def test_a_judgement_is_a_value() -> None:
    assert judged(0, 0) == Judgement(0, 0, judged(0, 0).verdict, None, None, ())
