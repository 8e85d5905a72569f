"""What a run comes to: counts, rates with intervals, one verdict, one exit code, one digest.

Owns: the fields of `--json`, and when a clean verdict may be given: only where the path was exercised. Does not own:
the judgements (`oracles`), the intervals (`stats`), the text (`report`). Floor 3. Source: ours.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from results.counts import count_turns
from results.digest import digest_of
from results.findings import Judgement
from results.records import Measured, RunManifest, TurnRecord
from results.serial.outcome import with_serial
from results.server_log import LogFinding, with_server_log
from results.stats.arm_rate import arm_rate
from results.stats.intervals import Interval, clopper_pearson
from results.vacuity import exercise_of
from results.verdict import RunVerdict, verdict_of, with_aside

Bounds = tuple[float, float]


@dataclass(frozen=True, slots=True)
class RunSummary:
    """The figures of one run. Rates are over the sessions and turns that could be judged.

    session_ci95: Clopper-Pearson over sessions, as if they were independent. turn_ci95, kind_ci95: over turns,
    with the session as the cluster (`arm_rate`).
    kinds, kind_ci95, session_kinds: turns by primary kind; sessions by the kind of their first corrupted turn.
    turns_known: judged turns whose right answer was known; the others were judged by their text alone.
    origins, session_origins: by the machine's own evidence. A session is primary where any of its turns up to its
    first corrupted one read stale bytes, and secondary where only pages of others poisoned it.
    """

    scenario: str
    seed: int
    backend: str
    sessions: int
    sessions_judged: int
    sessions_corrupted: int
    session_rate: float | None
    session_ci95: Bounds
    turns: int
    turns_judged: int
    turns_corrupted: int
    turns_unknown: int
    turns_known: int
    turn_rate: float | None
    turn_ci95: Bounds
    kinds: dict[str, int]
    kind_ci95: dict[str, Bounds]
    session_kinds: dict[str, int]
    unknown_kinds: dict[str, int]
    origins: dict[str, int]
    session_origins: dict[str, int]
    load_backs: int
    loaded_bytes: int
    host_hit_turns: int
    stale_reads: int
    torn_reads: int
    poisoned_reads: int
    decode_stale_reads: int
    counters: dict[str, int | float]
    wall_s: float
    digest: str
    run_dir: str
    repeat: str
    partial: bool
    verdict: RunVerdict
    verdict_reason: str

    def as_json(self) -> dict[str, object]:
        """Plain values, in a fixed order, ready for `--json` and `summary.json`."""
        return asdict(self)

    def exit_code(self) -> int:
        """0 clean, 1 corruption found, 4 could not judge."""
        return self.verdict.exit_code


def summarise(
    manifest: RunManifest,
    turns: Sequence[TurnRecord],
    judgements: Sequence[Judgement],
    *,
    measured: Measured,
    run_dir: str,
    partial: bool = False,
    faults: Sequence[str] = (),
    server_log: Sequence[LogFinding] = (),
) -> RunSummary:
    """Count a run's judged turns. `turns` and `judgements` are in the same order, one judgement a turn.

    Args:
        partial: it ended before its plan did: by a hang, by Ctrl-C, by a crash. Such a run is not clean.
        faults: what of a stored run could not be read, in words. With any of them no run is clean.
        server_log: what the server's own log says of the run.
    """
    assert [turn.key for turn in turns] == [judgement.key for judgement in judgements], "one judgement a turn, in order"
    counts = count_turns(turns, judgements)
    counters = measured.counters
    exercise = exercise_of(turns, counters)
    verdict, reason = with_aside(*verdict_of(manifest, counts, exercise), counts, counters)
    verdict, reason = with_serial(verdict, reason, counts, measured.served_alone)
    verdict, reason = with_server_log(verdict, reason, server_log)
    verdict, reason = _unless_cut_short(verdict, reason, faults=faults, is_partial=partial)
    session_rate = clopper_pearson(counts.sessions_corrupted, counts.sessions_judged)
    turn_rate = arm_rate(counts.corrupted_by_session, counts.judged_by_session)
    machine = [turn.machine for turn in turns if turn.machine is not None]
    return RunSummary(
        scenario=manifest.scenario,
        seed=manifest.seed,
        backend=manifest.backend,
        sessions=counts.sessions,
        sessions_judged=counts.sessions_judged,
        sessions_corrupted=counts.sessions_corrupted,
        session_rate=_rate(session_rate),
        session_ci95=(session_rate.low, session_rate.high),
        turns=counts.turns,
        turns_judged=counts.turns_judged,
        turns_corrupted=counts.turns_corrupted,
        turns_unknown=counts.turns_unknown,
        turns_known=counts.turns_known,
        turn_rate=_rate(turn_rate),
        turn_ci95=(turn_rate.low, turn_rate.high),
        kinds=counts.kinds,
        kind_ci95={kind: _bounds(hits, counts.judged_by_session) for kind, hits in counts.kinds_by_session.items()},
        session_kinds=counts.session_kinds,
        unknown_kinds=counts.unknown_kinds,
        origins=counts.origins,
        session_origins=counts.session_origins,
        load_backs=exercise.load_backs or 0,
        loaded_bytes=exercise.loaded_bytes or 0,
        host_hit_turns=exercise.host_hit_turns or 0,
        stale_reads=sum(evidence.stale_reads for evidence in machine),
        torn_reads=sum(evidence.torn_reads for evidence in machine),
        poisoned_reads=sum(evidence.poisoned_reads for evidence in machine),
        decode_stale_reads=sum(evidence.decode_stale_reads for evidence in machine),
        counters=dict(sorted(counters.items())),
        wall_s=measured.wall_s,
        digest=digest_of(turns, measured.trace_digest, times_are_virtual=manifest.times_are_virtual),
        run_dir=run_dir,
        repeat=manifest.repeat,
        partial=partial,
        verdict=verdict,
        verdict_reason=reason,
    )


def _unless_cut_short(
    verdict: RunVerdict, reason: str, *, faults: Sequence[str], is_partial: bool
) -> tuple[RunVerdict, str]:
    """Nobody knows what is missing, so it is not clean."""
    if verdict is not RunVerdict.CLEAN:
        return verdict, reason
    if faults:
        return RunVerdict.UNKNOWN, f"what could be read is clean, but not everything could be read: {faults[0]}"
    if is_partial:
        return RunVerdict.UNKNOWN, f"the run ended before its plan did; until then: {reason}"
    return verdict, reason


def _bounds(events: Sequence[int], units: Sequence[int]) -> Bounds:
    interval = arm_rate(events, units)
    return (interval.low, interval.high)


def _rate(interval: Interval) -> float | None:
    return interval.estimate if interval.unit_count else None
