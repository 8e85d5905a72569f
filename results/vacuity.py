"""Was the path exercised at all? The gate in front of every clean verdict.

Owns: what of a stored run shows that requests overlapped and that the cache worked, how much of it is enough, and the
sentence that says what was missing. A dead server, one that takes requests one at a time and one whose cache is off
all give replies that nothing is wrong with; none of them was tested. Floor 3. Source: ours.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

from results.records import RunManifest, TurnRecord


@dataclass(frozen=True, slots=True)
class Demands:
    """How much of each must have happened. None: not asked for (an arm with its host tier off loads nothing back)."""

    overlap_min: int | None = 2
    cached_turns_min: int | None = None
    host_hit_turns_min: int | None = None
    load_backs_min: int | None = None
    loaded_bytes_min: int | None = None
    evictions_min: int | None = None
    host_units_min: int | None = None


@dataclass(frozen=True, slots=True)
class Exercise:
    """What happened, as far as it is known; None where nobody reports it.

    overlap: the most requests that the server had in progress at one instant, by the most telling evidence there is.
    host_units: what came back from a live server's host tier, in the unit of the counter that says so.
    """

    turns: int
    answered: int
    overlap: int | None
    cached_turns: int | None
    host_hit_turns: int | None
    load_backs: int | None
    loaded_bytes: int | None
    evictions: int | None
    host_units: int | None = None


HOST_COUNTERS = {
    "server_host_hit_tokens": "tokens", "server_load_back_tokens": "tokens", "server_load_back_bytes": "bytes",
    "server_onboarded_blocks": "blocks", "server_external_hit_tokens": "tokens",
}  # fmt: skip
"""Of a live server, under neutral names (`harness/live/metric_names`): any that grew shows that its tier was used."""


def host_counter(counters: Mapping[str, int | float]) -> tuple[str, int] | None:
    """The first that grew, else the first there is; None where no counter tells."""
    known = [name for name in HOST_COUNTERS if name in counters]
    grown = [name for name in known if counters[name] > 0]
    return next(((name, int(counters[name])) for name in (*grown, *known)), None)


def exercise_of(turns: Sequence[TurnRecord], counters: Mapping[str, int | float]) -> Exercise:
    """Read a run's turns and the counters of its machine or server."""
    machine = [turn.machine for turn in turns if turn.machine is not None]
    cached = [turn.cached_tokens for turn in turns if turn.cached_tokens is not None]
    host_hits = sum(evidence.host_hit_tokens > 0 for evidence in machine) if machine else None
    told = host_counter(counters)
    return Exercise(
        turns=len(turns),
        answered=sum(turn.error is None and turn.finish_reason is not None for turn in turns),
        overlap=_overlap(turns, counters),
        cached_turns=sum(count > 0 for count in cached) if cached else None,
        host_hit_turns=_count(counters, "host_hit_turns") if host_hits is None else host_hits,
        load_backs=_count(counters, "load_backs"),
        loaded_bytes=_count(counters, "loaded_bytes"),
        evictions=_count(counters, "evicted_device_pages"),
        host_units=None if told is None else told[1],
    )


def demands_of(manifest: RunManifest, exercise: Exercise) -> Demands:
    """What a run's own manifest asks for; bytes and evictions only where somebody counts them, as older runs do not."""
    if not manifest.requires_host_tier:
        return Demands()
    if manifest.backend == "live":
        return Demands(host_units_min=1)
    return Demands(
        host_hit_turns_min=1,
        load_backs_min=1,
        loaded_bytes_min=None if exercise.loaded_bytes is None else 1,
        evictions_min=None if exercise.evictions is None else 1,
    )


def not_exercised(exercise: Exercise, demands: Demands) -> str | None:
    """The first thing that a clean verdict lacks, in words. None: the path was exercised."""
    if exercise.turns == 0:
        return "no turn was run, so nothing could be judged"
    if exercise.answered == 0:
        return f"none of {exercise.turns} requests was answered: the server is dead, or it cannot be reached"
    checks = (
        (exercise.overlap, demands.overlap_min, _ONE_AT_A_TIME, "nobody can tell whether requests overlapped"),
        (exercise.cached_turns, demands.cached_turns_min, _NO_CACHE, "the server reports no cached tokens"),
        (exercise.load_backs, demands.load_backs_min, _NO_LOADS, "nobody counts load-backs"),
        (exercise.host_hit_turns, demands.host_hit_turns_min, _NO_HITS, "nobody counts hits of the host tier"),
        (exercise.loaded_bytes, demands.loaded_bytes_min, _NO_BYTES, "nobody counts loaded bytes"),
        (exercise.evictions, demands.evictions_min, _NO_EVICTIONS, "nobody counts evictions"),
        (exercise.host_units, demands.host_units_min, _NO_TIER, "no counter of the server tells its host tier"),
    )
    for found, needed, sentence, silence in checks:
        if needed is not None and found is None:
            return f"the path may not have been exercised: {silence}"
        if needed is not None and found is not None and found < needed:
            return "the path was not exercised: " + sentence.format(found=found, needed=needed, turns=exercise.answered)
    return None


_ONE_AT_A_TIME = "the server worked on {found} request at a time, so no two of {turns} ever met"
_NO_CACHE = "no token of {turns} answered prompts came from a cache, so the cache is off or never hit"
_NO_LOADS = "nothing was loaded back from the host tier"
_NO_HITS = "no turn's prompt hit the host tier"
_NO_BYTES = "load-backs moved {found} bytes, fewer than {needed}"
_NO_TIER = "the server's own counters of its host tier did not move"
_NO_EVICTIONS = "nothing was evicted, so nothing had to come back"


def _overlap(turns: Sequence[TurnRecord], counters: Mapping[str, int | float]) -> int | None:
    """The server's own gauge, else the machine's batches or what can be seen from outside: a request is surely in work
    between its first token and its end; before that it may have been waiting."""
    gauge = _count(counters, "running_max")
    if gauge is not None:
        return gauge
    known = [turn.machine.batch for turn in turns if turn.machine is not None]
    spans = [
        (turn.first_token_ns, turn.finished_ns)
        for turn in turns
        if turn.first_token_ns is not None and turn.finished_ns is not None and turn.finished_ns > turn.first_token_ns
    ]
    return max((*known, *_together(spans)), default=None)


def _together(spans: Sequence[tuple[int, int]]) -> list[int]:
    """How many of the spans hold at each of their beginnings. A client sees two ends in any order that come at about
    the same time, so a tenth of each span is left out on both sides."""
    edges = []
    for begin, end in spans:
        margin = (end - begin) // 10
        edges += [(begin + margin, 1), (end - margin, -1)]
    return list(accumulate(step for _, step in sorted(edges)))


def _count(counters: Mapping[str, int | float], name: str) -> int | None:
    return int(counters[name]) if name in counters else None
