"""The memory of a trace: who touched what, and the races found in it.

Owns: buffers, which accesses are compared, complaints about undeclared ones. Does not own: clocks and edges
(`order.py`), the search in accesses (`segment.py`), races (`reporting.py`). Floor 2b.

Most accesses are settled by one comparison for each lane that uses the buffer: its last access is known to be over.
Only for the others a segment is searched, layer by layer, and only among what it finds are page lists compared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice

import numpy as np

from kernels.races.detector.footprint import Footprints
from kernels.races.detector.grouping import Groups, distinct
from kernels.races.detector.order import Ordered
from kernels.races.detector.race import Race, pattern_of
from kernels.races.detector.reporting import Found, Hits, TracedBuffer
from kernels.races.detector.segment import WIDE, Accesses, Pairs, Question, Segment
from kernels.substrate.columns import WAIT, Bools, Columns, Ints, Tables

# Where nothing is ordered there are too many to keep; they are folded into races by lots.
_HITS_TOGETHER = 1 << 20


class TracedMemory:
    """All buffers of one trace. `blame` is told row and reason where the trace cannot be judged."""

    def __init__(self, tables: Tables, blame: Callable[[int, str], None]) -> None:
        self._tables = tables
        self._blame = blame
        self._buffers: list[TracedBuffer] = []
        self._buffer_of: dict[str, int] = {}
        self._segments: list[Segment] = []
        self._footprints = Footprints(tables.page_lists)
        self._patterns: dict[str, int] = {}
        self._pattern_of_text: Ints = np.zeros(0, np.int64)
        self._found = Found(tables, self._footprints, self._buffers)

    def __repr__(self) -> str:
        return f"TracedMemory(buffers={len(self._buffers)}, races={len(self._found.races)})"

    @property
    def races(self) -> list[Race]:
        return self._found.races

    @property
    def is_untouched(self) -> bool:
        """Whether nothing was accessed so far."""
        return not self._segments

    def lanes_using(self, buffer: str) -> set[int]:
        """Indices of the lanes that touched a buffer."""
        return set().union(*self._buffers[self._buffer_of[buffer]].last)

    def look(self, columns: Columns, ordered: Ordered) -> None:
        """Judge and remember what the operations of these rows touched."""
        for index, facts in columns.buffers:
            row = columns.first_row + index
            if facts.name in self._buffer_of:
                self._blame(row, f"there is a buffer '{facts.name}' already")
            self._buffer_of[facts.name] = len(self._buffers)
            self._buffers.append(TracedBuffer(facts, row))
        accesses = self._checked(columns, ordered)
        if not len(accesses):
            return
        base = np.zeros(len(ordered.known), np.int64)
        # Backwards, so that a lane's first place is what stays.
        base[ordered.lane[::-1]] = ordered.place[::-1] - 1
        self._segments.append(Segment(accesses, base))
        question = self._unsettled(accesses, ordered.known)
        hits: list[Hits] = []
        for number, pairs in self._asked(accesses, question):
            hits.append(self._hits(accesses, number, pairs))
            if sum(len(some.x) for some in hits) >= _HITS_TOGETHER:
                self._found.add(hits, self._segments)
                hits = []
        self._found.add(hits, self._segments)

    def _checked(self, columns: Columns, ordered: Ordered) -> Accesses:
        """The accesses of these rows, without those that touch nothing or what was never declared."""
        row = np.repeat(np.arange(len(columns)), columns.access_count)
        named, which = distinct(columns.buffer)
        numbers = [self._buffer_of.get(self._tables.text(text), -1) for text in named.tolist()]
        buffer = np.array(numbers, np.int64)[which]
        # What was never declared is buffer -1, the last one, and too small for anything.
        declared = [(one.row, one.extent, one.facts.layers) for one in self._buffers] + [(0, -1, 0)]
        since, extent, layer_count = (np.array(column, np.int64) for column in zip(*declared, strict=True))
        lowest, highest, sizes = self._layer_sets()
        lists = self._footprints.lists
        is_declared = lists.high[columns.pages] <= extent[buffer]
        if int(since.max()) >= columns.first_row:
            is_declared &= since[buffer] <= columns.first_row + row
        is_inside = (highest[columns.layers] < layer_count[buffer]) & (lowest[columns.layers] >= 0)
        kept = is_declared & is_inside
        if not kept.all():
            self._blame_accesses(columns, row, is_declared, np.flatnonzero(~kept))
        if not sizes.all() or not lists.counts.all():
            kept &= (sizes[columns.layers] > 0) & (lists.counts[columns.pages] > 0)
        at = slice(None) if kept.all() else np.flatnonzero(kept)
        row, layers = row[at], columns.layers[at]
        at_operation = (np.cumsum(columns.kind <= WAIT) - 1)[row]
        return Accesses(
            source=columns.rows,
            row=row,
            ordinal=columns.number[row],
            lane=ordered.lane[at_operation],
            place=ordered.place[at_operation],
            clock=ordered.clock[at_operation],
            pattern=self._pattern_ids()[columns.label[row]],
            write=columns.write[at].astype(np.int64),
            buffer=buffer[at],
            cell=np.where(sizes == 1, lowest + 1, WIDE)[layers],
            layers=layers,
            pages=columns.pages[at],
        )

    def _layer_sets(self) -> tuple[Ints, Ints, Ints]:
        """[layer sets] the lowest and the highest layer, and how many there are."""
        sets = [(min(one, default=0), max(one, default=0), len(one)) for one in self._tables.layers]
        lowest, highest, sizes = np.array(sets, np.int64).reshape(-1, 3).T.copy()
        return lowest, highest, sizes

    def _blame_accesses(self, columns: Columns, row: Ints, is_declared: Bools, wrong: Ints) -> None:
        for at in wrong.tolist():
            operation, where = columns.rows.operation(int(row[at])), self._tables.text(int(columns.buffer[at]))
            if is_declared[at]:
                where += f" layers {list(self._tables.layers)[columns.layers[at]]}"
            text = f"{operation.label} (#{operation.ordinal}) on {operation.stream} touches {where}: undeclared access"
            self._blame(columns.first_row + int(row[at]), text)

    def _pattern_ids(self) -> Ints:
        """[texts] the number of each text's pattern."""
        ids = self._pattern_of_text
        if len(ids) < len(self._tables.texts):
            new = islice(self._tables.texts, len(ids), None)
            patterns = [self._patterns.setdefault(pattern_of(text), len(self._patterns)) for text in new]
            ids = self._pattern_of_text = np.append(ids, np.array(patterns, np.int64))
        return ids

    def _unsettled(self, accesses: Accesses, known: Ints) -> Question:
        """For each access the lanes whose last conflicting access to the buffer it does not know to be over."""
        nothing = np.zeros(0, np.int64)
        questions: list[tuple[Ints, Ints, Ints, Ints]] = [(nothing, nothing, nothing, nothing)]
        for buffer, members in Groups(accesses.buffer):
            lane, place = accesses.lane[members], accesses.place[members]
            clock, writes = accesses.clock[members], accesses.write[members] == 1
            is_written = bool(writes.any())
            for mode, last in enumerate(self._buffers[buffer].last):
                is_mode = writes if mode else ~writes
                present = np.flatnonzero(np.bincount(lane[is_mode])).tolist()
                for other in sorted({*last, *present}):
                    so_far: Ints = np.full(len(members), last.get(other, 0))
                    if other in present:
                        so_far = np.maximum.accumulate(np.where(is_mode & (lane == other), place, so_far))
                        last[other] = int(so_far[-1])
                    if not mode and not is_written:
                        continue
                    over = known[other][clock]
                    is_open = (so_far > over) & (lane != other)
                    at = np.flatnonzero(is_open if mode else is_open & writes)
                    questions.append((members[at], np.full(len(at), other), np.full(len(at), mode), over[at]))
        return Question(*(np.concatenate(column) for column in zip(*questions, strict=True)))

    def _asked(self, accesses: Accesses, question: Question) -> Iterator[tuple[int, Pairs]]:
        """Unordered accesses that may share a layer, from each segment that has any; the newest first."""
        current = len(self._segments) - 1
        if len(question.x):
            for pairs in self._segments[current].pairs(accesses, question, is_current=True):
                yield current, pairs
        for number in range(current - 1, -1, -1):
            if not len(question.x):
                return
            segment = self._segments[number]
            here, earlier = segment.left_open(accesses, question)
            if len(here):
                for pairs in segment.pairs(accesses, question.some(here), is_current=False):
                    yield number, pairs
            question = question.some(earlier)

    def _hits(self, accesses: Accesses, number: int, pairs: Pairs) -> Hits:
        """Those of the pairs that share a page on a layer."""
        others, lists = self._segments[number].accesses, self._footprints.lists
        mine, theirs = accesses.pages[pairs.x], others.pages[pairs.y]
        near = np.flatnonzero((lists.low[mine] < lists.high[theirs]) & (lists.low[theirs] < lists.high[mine]))
        pairs = pairs.some(near)
        is_wide = (accesses.cell[pairs.x] == WIDE) | (others.cell[pairs.y] == WIDE)
        if is_wide.any():
            meets = ~is_wide
            at = np.flatnonzero(is_wide)
            meets[at] = self._found.layers_meet(accesses.layers[pairs.x[at]], others.layers[pairs.y[at]])
            pairs = pairs.some(np.flatnonzero(meets))
        meets = self._footprints.meet(accesses.pages[pairs.x], others.pages[pairs.y])
        pairs = pairs.some(np.flatnonzero(meets))
        return Hits(np.full(len(pairs.x), number), *pairs)
