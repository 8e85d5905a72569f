"""Rows of a stored block as objects: made one by one, where a report or a conversion asks for them.

Owns: from columns back to `Operation` (without its accesses, which are told apart) and `HostStep`. Does not own: the
file format (`trace_columns.py`). Floor 1.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from kernels.substrate.columns import KINDS, TOUCH, BufferFacts, Ints, Tables
from kernels.substrate.trace import HostStep, Operation

Fields = Mapping[str, Ints]
"""The columns of one block by name."""


@dataclass(frozen=True, slots=True)
class StoredAccess:
    """One access of a stored operation. by_bytes: the intervals are of bytes, not of pages."""

    is_write: bool
    buffer: str
    layers: tuple[int, ...]
    intervals: tuple[tuple[int, int], ...]
    by_bytes: bool


class StoredRows:
    """The rows of one block. buffers: all that were declared up to its end."""

    def __init__(self, fields: Fields, tables: Tables, buffers: Mapping[str, BufferFacts]) -> None:
        self._fields = fields
        self._tables = tables
        self._buffers = buffers
        self._made: dict[int, Operation] = {}
        self._offsets: dict[str, Ints] = {}

    def __repr__(self) -> str:
        return f"StoredRows({len(self._fields['kind'])})"

    def operation(self, index: int) -> Operation:
        known = self._made.get(index)
        if known is not None:
            return known
        kind = int(self._at("kind", index))
        layer, sites = self._at("layer", index), self._slice("access_site", "site_count", index)
        start_ns = self._at("issue", index) + self._at("start", index)
        operation = self._made[index] = Operation(
            self._at("number", index),
            "kernel" if kind == TOUCH else KINDS[kind],  # type: ignore[arg-type]
            self._text("stream", index),
            self._text("thread", index),
            self._text("label", index),
            self._at("issue", index),
            point=self._text("point", index),
            layer=None if layer == 0 else layer - 1,
            delay_ns=self._at("delay", index),
            io=self._text("io", index),
            event=self._text("event", index),
            generation=self._at("generation", index),
            start_ns=start_ns,
            end_ns=start_ns + self._at("end", index),
            site=self._text("site", index),
            access_sites=tuple(self._tables.text(site) for site in sites),
        )
        return operation

    def step(self, index: int) -> HostStep:
        return HostStep(
            KINDS[self._at("kind", index)],  # type: ignore[arg-type]
            self._text("thread", index),
            self._at("issue", index),
            event=self._text("event", index),
            generation=self._at("generation", index),
            other=self._text("other", index),
            answer=bool(self._at("answer", index)),
            wakes=tuple(self._slice("wake", "wake_count", index)),
            issued=self._at("number", index),
        )

    def accesses(self, index: int) -> list[StoredAccess]:
        columns = [self._slice(name, "access_count", index) for name in ("write", "buffer", "layers", "pages")]
        if not columns[0]:
            return []
        tables, layer_sets = self._tables, list(self._tables.layers)
        accesses: list[StoredAccess] = []
        for is_write, text, layers, pages in zip(*columns, strict=True):
            buffer = tables.text(text)
            facts, intervals = self._buffers.get(buffer), tables.page_lists.intervals(pages)
            by_bytes = facts is not None and not facts.pages
            accesses.append(StoredAccess(bool(is_write), buffer, layer_sets[layers], intervals, by_bytes))
        return accesses

    def _at(self, name: str, index: int) -> Any:
        return int(self._fields[name][index])

    def _text(self, name: str, index: int) -> str:
        return self._tables.text(self._at(name, index))

    def _slice(self, name: str, count: str, index: int) -> list[int]:
        offsets = self._offsets.get(count)
        if offsets is None:
            offsets = self._offsets[count] = np.append(0, np.cumsum(self._fields[count], dtype=np.int64))
        values: list[int] = self._fields[name][offsets[index] : offsets[index + 1]].tolist()
        return values
