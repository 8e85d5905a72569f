"""Which rows of a trace make one session, and which sessions wait for which turns of others.

Owns: chains, forks and joins; cycles are refused. Does not own: rows (`trace_rows.py`), what they send. Pure. Floor 5.
Source: ours. A trace of agents is a graph: a row may wait for several others, and several may wait for it. One that
waits for the last row of a chain of its own session goes on with that chain; any other begins a session that waits.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from pathlib import Path

from harness.live.workloads.entries import KEY
from harness.live.workloads.trace_rows import RowHead
from harness.load.workload.planned import TurnKey
from kernels.errors import ConfigError


@dataclass(frozen=True, slots=True)
class Link:
    """One row as a turn. row: its place among the heads. waits_for: turns of other chains.

    pause_ns: from the end of what it waits for, or of the turn before; for a first turn that waits for nothing, from
    the trace's beginning.
    """

    row: int
    waits_for: tuple[TurnKey, ...]
    pause_ns: int


Chain = tuple[Link, ...]


def chains_of(heads: Sequence[RowHead], file: Path, left_out: Counter[str]) -> list[Chain]:
    """Every row once, in chains that are ordered by their first row.

    Effect: counts what is waited for and not there. Raises: ConfigError for doubled ids, and rows that wait for
    themselves.
    """
    parents = _parents(heads, file, left_out)
    chains: list[list[int]] = []
    place: dict[int, TurnKey] = {}
    for row in _in_order(heads, parents, file):
        session = heads[row].session
        tails = (at for at in parents[row] if heads[at].session == session and _is_tail(place[at], chains))
        before = next(tails, None)
        if before is not None:
            number = place[before][0]
        else:
            number = len(chains)
            chains.append([])
        place[row] = (number, len(chains[number]))
        chains[number].append(row)
    order = sorted(range(len(chains)), key=lambda number: chains[number][0])
    renumbered = {old: new for new, old in enumerate(order)}
    place = {row: (renumbered[number], turn) for row, (number, turn) in place.items()}
    begin_ns = min((head.at_ns for head in heads if head.at_ns is not None), default=0)
    return [tuple(_link(heads, parents, place, row, begin_ns) for row in chains[old]) for old in order]


def _parents(heads: Sequence[RowHead], file: Path, left_out: Counter[str]) -> list[list[int]]:
    """For each row, the rows that it waits for."""
    by_id: dict[str, int] = {}
    for row, head in enumerate(heads):
        if head.id is not None and by_id.setdefault(head.id, row) != row:
            what = f"the id '{head.id}' is also on line {heads[by_id[head.id]].line}"
            raise ConfigError(what, key=KEY, file=file, line=head.line)
    parents: list[list[int]] = []
    last: dict[str, int] = {}
    for row, head in enumerate(heads):
        known = [by_id[name] for name in head.waits_for if name in by_id]
        missing = len(head.waits_for) - len(known)
        if missing:
            left_out["requests that rows wait for, and that are not in the file"] += missing
        if head.session is not None:
            if head.follows_session and head.session in last:
                known.append(last[head.session])
            last[head.session] = row
        parents.append(known)
    for row, head in enumerate(heads):
        for name in head.branches:
            if name in by_id and row not in parents[by_id[name]]:
                parents[by_id[name]].append(row)
    return parents


def _in_order(heads: Sequence[RowHead], parents: Sequence[list[int]], file: Path) -> list[int]:
    """Rows behind all that they wait for, else as in the file."""
    open_count = [len(set(known)) for known in parents]
    children: dict[int, list[int]] = defaultdict(list)
    for row, known in enumerate(parents):
        for parent in set(known):
            children[parent].append(row)
    ready = [row for row, count in enumerate(open_count) if not count]
    heapify(ready)
    order: list[int] = []
    while ready:
        order.append(heappop(ready))
        for child in children[order[-1]]:
            open_count[child] -= 1
            if not open_count[child]:
                heappush(ready, child)
    if len(order) < len(heads):
        stuck = next(head for head, count in zip(heads, open_count, strict=True) if count)
        what = f"request '{stuck.id}' waits for itself, through others"
        raise ConfigError(what, key=KEY, file=file, line=stuck.line)
    return order


def _is_tail(place: TurnKey, chains: Sequence[list[int]]) -> bool:
    return place[1] + 1 == len(chains[place[0]])


def _link(
    heads: Sequence[RowHead], parents: Sequence[list[int]], place: dict[int, TurnKey], row: int, begin_ns: int
) -> Link:
    head, (chain, turn) = heads[row], place[row]
    before = [parent for parent in parents[row] if place[parent] == (chain, turn - 1)]
    others = sorted({place[parent] for parent in parents[row] if parent not in before})
    if head.delay_ns is not None and parents[row]:
        return Link(row, tuple(others), head.delay_ns)
    since_ns = max((heads[parent].at_ns or begin_ns for parent in parents[row]), default=begin_ns)
    at_ns = since_ns if head.at_ns is None else head.at_ns
    return Link(row, tuple(others), max(0, at_ns - since_ns))
