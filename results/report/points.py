"""A run's turns as points: when, how long, how deep, under how much load, and what they came to.

Owns: reading these out of a turn's record. Does not own: shares over them (`bins`), drawing. Floor 3. Source: ours.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from results.findings import Judgement, Verdict
from results.records import TurnRecord
from results.report.gather import JudgedRun
from results.report.parts import RunPart, State, TurnPoint
from results.report.witness import difference_at, expected_text, received_text

_NS = 1e9


def run_part(judged: JudgedRun) -> RunPart:
    """One run with all its points, in the order in which they were sent."""
    return RunPart(
        name=judged.name,
        arm=judged.arm,
        seed=judged.seed,
        backend=judged.run.manifest.backend,
        verdict=judged.summary.verdict,
        partial=judged.summary.partial,
        times_are_virtual=judged.run.manifest.times_are_virtual,
        sessions=judged.summary.sessions,
        session_rate=judged.summary.session_rate,
        wall_s=judged.summary.wall_s,
        digest=judged.summary.digest,
        points=tuple(_points(judged)),
    )


def _points(judged: JudgedRun) -> list[TurnPoint]:
    in_flight = _in_flight(judged.turns)
    points = [
        _point(turn, judgement, count)
        for (turn, judgement), count in zip(judged.pairs, in_flight, strict=True)
    ]  # fmt: skip
    return sorted(points, key=lambda point: (point.sent_s, point.session, point.turn))


def _point(turn: TurnRecord, judgement: Judgement, in_flight: int) -> TurnPoint:
    machine = turn.machine
    wrong_at = None
    if judgement.is_corrupted and turn.expected is not None:
        wrong_at = difference_at(expected_text(turn), received_text(turn))
    return TurnPoint(
        session=turn.session,
        turn=turn.turn,
        state=_state(judgement),
        kind=None if judgement.kind is None else str(judgement.kind),
        sent_s=turn.sent_ns / _NS,
        end_s=None if turn.finished_ns is None else turn.finished_ns / _NS,
        ttft_s=None if turn.first_token_ns is None else (turn.first_token_ns - turn.sent_ns) / _NS,
        itl_ms=_itl_ms(turn),
        prompt_tokens=turn.prompt_tokens,
        loaded_tokens=None if machine is None else machine.host_hit_tokens,
        in_flight=in_flight,
        stale_layers=None if machine is None else machine.stale_layers,
        wrong_at=wrong_at,
    )


def _state(judgement: Judgement) -> State:
    if judgement.is_corrupted:
        return State.CORRUPTED
    return State.UNKNOWN if judgement.verdict is Verdict.UNKNOWN else State.SOUND


def _itl_ms(turn: TurnRecord) -> float | None:
    """Mean time between tokens; a reply of one token has none."""
    if turn.first_token_ns is None or turn.finished_ns is None or (turn.completion_tokens or 0) < 2:
        return None
    assert turn.completion_tokens is not None
    return (turn.finished_ns - turn.first_token_ns) / 1e6 / (turn.completion_tokens - 1)


def _in_flight(turns: Sequence[TurnRecord]) -> list[int]:
    """For each turn, how many requests ran when it was sent, itself included. One without an end counts to its send."""
    sent = np.array([turn.sent_ns for turn in turns], dtype=np.int64)
    ends = np.array([turn.sent_ns if turn.finished_ns is None else turn.finished_ns for turn in turns], dtype=np.int64)
    begun = np.searchsorted(np.sort(sent), sent, side="right")
    ended = np.searchsorted(np.sort(ends), sent, side="right")
    is_open = np.array([turn.finished_ns is None or turn.finished_ns <= turn.sent_ns for turn in turns], dtype=np.int64)
    counts: list[int] = (begun - ended + is_open).tolist()
    return counts
