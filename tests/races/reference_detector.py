"""The slow detector that is obviously right: all rows in a graph, every pair of accesses compared.

Owns: the edges as the contract's sentences, one by one, and reachability. Does not share code with the real one.
Floor: tests. Source: DESIGN.md section 2.

An operation on a stream called `host NAME` is something that thread NAME did itself: a step of it, too.
"""

from __future__ import annotations

from collections import Counter, defaultdict

from kernels.substrate.trace import HostStep, MemoryTrace, Operation

RaceKey = tuple[str, int, frozenset[tuple[str, bool]]]
"""Buffer, layer, and the two (stream, is_write)."""


def reference_races(trace: MemoryTrace) -> Counter[RaceKey]:
    """How many unordered pairs of accesses there are of each kind."""
    rows = trace.rows
    over = _everything_before(rows)
    accesses = [
        (index, row.stream, is_write, region.buffer.name, layer, set(region.pages.tolist()))
        for index, row in enumerate(rows)
        if isinstance(row, Operation)
        for is_write, region in row.accesses
        for layer in region.layers
    ]
    found: Counter[RaceKey] = Counter()
    for i, stream_i, write_i, buffer_i, layer_i, pages_i in accesses:
        for j, stream_j, write_j, buffer_j, layer_j, pages_j in accesses:
            if i >= j or not (write_i or write_j) or (buffer_i, layer_i) != (buffer_j, layer_j):
                continue
            if pages_i & pages_j and i not in over[j] and j not in over[i]:
                found[buffer_i, layer_i, frozenset({(stream_i, write_i), (stream_j, write_j)})] += 1
    return found


def _everything_before(rows: list[Operation | HostStep]) -> list[set[int]]:
    """For each row, the rows that happen before it: straight from each sentence of the contract."""
    before: list[set[int]] = [set() for _ in rows]
    last_on_stream: dict[str, int] = {}
    steps_of: dict[str, list[tuple[int, int]]] = defaultdict(list)
    record_at: dict[tuple[str, int], int] = {}
    wake_at: dict[tuple[str, int], int] = {}
    for index, row in enumerate(rows):
        direct: set[int] = set()
        if isinstance(row, Operation):
            if row.stream in last_on_stream:
                direct.add(last_on_stream[row.stream])
            last_on_stream[row.stream] = index
            direct.update(step for issued, step in steps_of[row.thread] if issued < row.ordinal)
            if row.stream == f"host {row.thread}":
                steps_of[row.thread].append((row.ordinal, index))
            if row.kind == "record":
                record_at[row.event, row.generation] = index
            elif row.kind == "wait" and row.generation:
                direct.add(record_at[row.event, row.generation])
        else:
            direct.update(step for _, step in steps_of[row.thread])
            steps_of[row.thread].append((row.issued, index))
            if row.kind in ("until", "query") and row.answer and row.generation:
                direct.add(record_at[row.event, row.generation])
            elif row.kind == "wake":
                wake_at[row.other, row.wakes[0]] = index
            elif row.kind == "park":
                direct.update(wake_at[row.thread, number] for number in row.wakes)
            elif row.kind == "spawn":
                steps_of[row.other].append((row.issued, index))
        before[index] = direct.union(*(before[earlier] for earlier in direct)) if direct else direct
    return before
