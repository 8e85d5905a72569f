"""Whether two sides may be compared at all, and in what they differ.

Owns: the refusals and their order. Does not own: the figures (`contrast`). Floor 3. Source: ours. A difference of two
rates has a meaning only where both sides were asked the same, and nobody is counted twice.
"""

from __future__ import annotations

from results.comparison.errors import NotComparable
from results.comparison.sides import Side
from results.report.words import plural

_WORKLOAD = "workload."
_TOOL = "kvrace"
_SHOWN_MAX = 4


def refuse_incomparable(first: Side, second: Side, *, across_versions: bool) -> None:
    """Raises: NotComparable with the difference named."""
    why = (
        _one_thing(first, second)
        or _other_backend(first, second)
        or _other_workload(first, second)
        or (None if across_versions else _other_version(first, second))
        or _other_sessions(first, second)
    )
    if why is not None:
        raise NotComparable(first.label, second.label, why)


def differing(first: Side, second: Side) -> dict[str, tuple[object, object]]:
    """The keys of the configuration in which the sides differ, with both values."""
    keys = dict.fromkeys((*first.configuration, *second.configuration))
    pairs = {key: (first.configuration.get(key), second.configuration.get(key)) for key in keys}
    return {key: pair for key, pair in pairs.items() if pair[0] != pair[1]}


def _one_thing(first: Side, second: Side) -> str | None:
    is_same = (first.path.resolve(), first.arm) == (second.path.resolve(), second.arm)
    return "they are one and the same" if is_same else None


def _other_backend(first: Side, second: Side) -> str | None:
    if first.backend == second.backend:
        return None
    return f"one was made on {first.backend}, the other on {second.backend}"


def _other_workload(first: Side, second: Side) -> str | None:
    other = {key: pair for key, pair in differing(first, second).items() if key.startswith(_WORKLOAD)}
    if not other:
        return None
    shown = [f"{key} is {mine} and {theirs}" for key, (mine, theirs) in list(other.items())[:_SHOWN_MAX]]
    more = f" and {len(other) - _SHOWN_MAX} keys more" if len(other) > _SHOWN_MAX else ""
    return f"their workloads differ: {', '.join(shown)}{more}"


def _other_version(first: Side, second: Side) -> str | None:
    mine, theirs = first.versions.get(_TOOL), second.versions.get(_TOOL)
    if mine == theirs:
        return None
    return f"they were made by versions {mine} and {theirs} of this tool; --across-versions compares them all the same"


def _other_sessions(first: Side, second: Side) -> str | None:
    """Of two single runs: the same seed must have planned the same sessions, another one none of them."""
    if first.sessions is None or second.sessions is None:
        return None
    mine = {secrets: number for number, (secrets, _) in first.sessions.items() if secrets}
    shared = [secrets for secrets, _ in second.sessions.values() if secrets in mine]
    is_same_seed = set(first.cells) == set(second.cells)
    if not is_same_seed and shared:
        numbers = sorted(mine[secrets] for secrets in shared)
        are = "is" if len(shared) == 1 else "are"
        what = f"{plural(len(shared), 'session')} {are} in both (first: session {numbers[0]}) though their seeds differ"
        return f"{what}, so one conversation would count twice"
    if is_same_seed:
        plans = [{number: secrets for number, (secrets, _) in side.sessions.items()} for side in (first, second)
                 if side.sessions is not None]  # fmt: skip
        other = [number for number in plans[0].keys() & plans[1].keys() if plans[0][number] != plans[1][number]]
        if other:
            differ = "differs" if len(other) == 1 else "differ"
            sessions = f"{plural(len(other), 'session')} {differ} (first: session {min(other)})"
            what = f"seed and workload are the same, yet {sessions}"
            return f"{what}: they were planned by other code"
    return None
