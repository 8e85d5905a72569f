"""The laws of keys: one key, one content; one content, one key; and what can be found was written.

Owns: both laws. Needs: `put`, `got`; `claim` for what was written. Floor 2b. Source: facts/bugs.md classes 12 (KEY-GAP:
a key that lacks dtype, rank or namespace, or that is private to one side) and 7 (PUBLISH-EARLY).

The facts of a `put` and a `got` describe the content: two descriptions that differ are two contents.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from kernels.races.laws.breach import Breach, LawName
from kernels.races.laws.history import History, Step
from kernels.races.laws.marks import Mark

Facts = Mapping[str, Any]


def keys(history: History) -> Iterator[Breach]:
    """One breach for each look-up or store whose key says too little, or more than the other side can know."""
    held: dict[str, Facts] = {}
    for mark in history.marks_of("put", "got"):
        key, facts = str(mark["key"]), mark["facts"]
        known = held.get(key)
        if known is not None and known != facts:
            differing = sorted(name for name in {*known, *facts} if known.get(name) != facts.get(name))
            pairs = ", ".join(f"{name} {known.get(name)} and {facts.get(name)}" for name in differing)
            yield Breach(LawName.KEYS, mark.ordinal, f"key {key} stands for two contents: {pairs}")
        elif known is None:
            other = next((name for name, content in held.items() if content == facts), None)
            if other is not None:
                what = f"key {key} is asked for or stored, and the same content is under {other}"
                yield Breach(LawName.KEYS, mark.ordinal, what)
        if mark.kind == "put":
            held[key] = facts


def published(history: History) -> Iterator[Breach]:
    """One breach for each key that was found before its pages were written for their present owner."""
    claimed: dict[tuple[str, int, int], int] = {}
    written: dict[tuple[str, int, int], int] = {}
    ranges: dict[str, Mark] = {}
    for row in history.in_order:
        if isinstance(row, Step):
            for touched in row.touched:
                if touched.is_write:
                    cells = ((touched.buffer, layer, page) for layer in touched.layers for page in touched.pages)
                    written.update(dict.fromkeys(cells, row.ordinal))
        elif row.kind == "claim":
            claimed.update(dict.fromkeys(_cells(row), row.ordinal))
        elif row.kind == "put" and "buffer" in row.facts:
            ranges[str(row["key"])] = row
        elif row.kind == "got" and row["key"] in ranges:
            found = ranges[row["key"]]
            for cell in _cells(found):
                if written.get(cell, 0) <= claimed.get(cell, 0):
                    buffer, layer, page = cell
                    what = f"key {row['key']} is found, and nothing was written to {buffer}[layer {layer}] page {page}"
                    yield Breach(LawName.PUBLISHED, row.ordinal, f"{what} since it was claimed")
                    break


def _cells(mark: Mark) -> Iterator[tuple[str, int, int]]:
    return ((mark["buffer"], layer, page) for layer in mark["layers"] for page in mark["pages"])
