"""The proof that a run's path was exercised: a server that did nothing cannot do it wrong.

Owns: the figures of the cache, summed over the runs of an arm, and the checks in words. Does not own: what a clean
verdict demands (`results.vacuity`): the checks are made of exactly those demands, run by run. A figure that nobody
told is None, and a check on it is neither passed nor failed. Floor 3. Source: ours.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from results.report.gather import JudgedRun
from results.report.parts import Check, Proof
from results.report.words import byte_size, plural
from results.vacuity import Demands, Exercise, demands_of, exercise_of


def proof_of(runs: Sequence[JudgedRun]) -> Proof:
    """Of all runs of one arm together; a check passes where every run passes it."""
    found = [exercise_of(run.turns, run.summary.counters) for run in runs]
    asked = [demands_of(run.run.manifest, exercise) for run, exercise in zip(runs, found, strict=True)]
    has_machine = any(turn.machine is not None for run in runs for turn in run.turns)

    def machine(values: Iterable[int]) -> int | None:
        return sum(values) if has_machine else None

    load_backs = _sum(exercise.load_backs for exercise in found)
    checks = [_check(row, found, asked) for row in _ROWS]
    if not any(run.run.manifest.requires_host_tier for run in runs) and load_backs is not None:
        words = f"{plural(load_backs, 'load-back')}, and this arm must have none"
        checks.append(Check(HOST_TIER_OFF, load_backs == 0, words))
    return Proof(
        load_backs=load_backs,
        loaded_bytes=_sum(exercise.loaded_bytes for exercise in found),
        host_hit_turns=_sum(exercise.host_hit_turns for exercise in found),
        turns=sum(run.summary.turns for run in runs),
        backups=_sum(_counter(run, "backups") for run in runs),
        evicted_device_pages=_sum(exercise.evictions for exercise in found),
        overlap=max((exercise.overlap for exercise in found if exercise.overlap is not None), default=None),
        stale_reads=machine(run.summary.stale_reads for run in runs),
        torn_reads=machine(run.summary.torn_reads for run in runs),
        poisoned_reads=machine(run.summary.poisoned_reads for run in runs),
        decode_stale_reads=machine(run.summary.decode_stale_reads for run in runs),
        checks=tuple(check for check in checks if check is not None),
        host_units=_sum(exercise.host_units for exercise in found),
    )


OVERLAP = "Requests overlapped"
EVICTIONS = "The device pool ran full"
HOST_HITS = "Prompts hit the host tier"
LOAD_BACKS = "Pages were loaded back"
BYTES = "Bytes moved"
HOST_TIER_OFF = "The host tier was off"
HOST_USED = "The server's host tier was used"

_Row = tuple[str, Callable[[Exercise], int | None], Callable[[Demands], int | None], Callable[[int], str]]
_ROWS: tuple[_Row, ...] = (
    (OVERLAP, lambda found: found.overlap, lambda asked: asked.overlap_min,
     lambda least: f"the server worked on up to {plural(least, 'request')} at once"),
    (EVICTIONS, lambda found: found.evictions, lambda asked: asked.evictions_min,
     lambda least: f"{plural(least, 'page')} evicted"),
    (HOST_HITS, lambda found: found.host_hit_turns, lambda asked: asked.host_hit_turns_min,
     lambda least: f"{plural(least, 'turn')} had part of the prompt on the host"),
    (LOAD_BACKS, lambda found: found.load_backs, lambda asked: asked.load_backs_min,
     lambda least: plural(least, "load-back")),
    (BYTES, lambda found: found.loaded_bytes, lambda asked: asked.loaded_bytes_min,
     lambda least: f"{byte_size(least)} from host to device"),
    (HOST_USED, lambda found: found.host_units, lambda asked: asked.host_units_min,
     lambda least: f"{least:,} by the server's own counter"),
)  # fmt: skip


def _check(row: _Row, found: Sequence[Exercise], asked: Sequence[Demands]) -> Check | None:
    """The run with the least of it decides; None where no run is asked for it."""
    name, measure, demand, words = row
    pairs = [(measure(one), demand(other)) for one, other in zip(found, asked, strict=True)]
    wanted = [(value, least) for value, least in pairs if least is not None]
    if not wanted:
        return None
    known = [(value, least) for value, least in wanted if value is not None]
    if len(known) < len(wanted):
        return Check(name, None, "the server does not tell")
    lowest = min(value for value, _ in known)
    suffix = "" if len(found) == 1 else ", in the run with the least"
    return Check(name, all(value >= least for value, least in known), words(lowest) + suffix)


def _counter(run: JudgedRun, name: str) -> int | None:
    value = run.summary.counters.get(name)
    return None if value is None else int(value)


def _sum(values: Iterable[int | None]) -> int | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None
