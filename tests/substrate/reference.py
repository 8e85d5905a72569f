"""A slow, obvious simulator of stream programs: the independent reference of the property test.

Owns: nothing of the product; it imports only the words for a program. Times come from a fixpoint over the operations,
contents from the definition ("the write whose last byte came last"), each asked for page by page. Where two things
happen in one instant the definition does not say which comes first, so contents are *sets* of allowed versions.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

Page = tuple[str, int, int]
"""Pool, layer, page."""


@dataclass(frozen=True)
class Step:
    """One operation, issued in list order at `issue_ns`. Pages are in walking order.

    kind: copy (source to target pages), write (version to target pages), read (target pages), busy, record, wait.
    """

    stream: str
    kind: str
    issue_ns: int = 0
    duration_ns: int = 0
    event: str = ""
    source: tuple[Page, ...] = ()
    target: tuple[Page, ...] = ()
    version: int = 0


@dataclass(frozen=True)
class Landed:
    """One write of one page by a step: its bytes land in (begin, end]."""

    step: int
    begin_ns: int
    end_ns: int


class Reference:
    """A program, run by definition. Every copy moves alone at one byte a nanosecond; a page has `page_bytes`."""

    def __init__(self, steps: list[Step], page_bytes: int, initial: dict[str, int]) -> None:
        self.steps = steps
        self.page_bytes = page_bytes
        self.initial = initial
        self._contents: dict[tuple[Page, int], frozenset[int]] = {}

    @cached_property
    def predecessors(self) -> list[list[int]]:
        """By step: the step before it in its stream, and for a wait the record that was current when it was issued."""
        result: list[list[int]] = []
        for index, step in enumerate(self.steps):
            earlier = [i for i in range(index) if self.steps[i].stream == step.stream][-1:]
            if step.kind == "wait":
                earlier += [
                    i for i in range(index) if self.steps[i].kind == "record" and self.steps[i].event == step.event
                ][-1:]
            result.append(earlier)
        return result

    @cached_property
    def times(self) -> list[tuple[int, int]]:
        """(start, end) by step: the least solution, found by repeating until nothing changes."""
        times = [(0, 0)] * len(self.steps)
        while True:
            solved = []
            for step, earlier in zip(self.steps, self.predecessors, strict=True):
                start = max([step.issue_ns, *(times[i][1] for i in earlier)])
                solved.append((start, start + self.duration(step)))
            if solved == times:
                # A wait starts when its stream is free, and ends when its record is complete.
                return [
                    (
                        max(
                            [step.issue_ns, *(times[i][1] for i in earlier[:1] if self.steps[i].stream == step.stream)]
                        ),
                        end,
                    )
                    if step.kind == "wait"
                    else (start, end)
                    for step, earlier, (start, end) in zip(self.steps, self.predecessors, times, strict=True)
                ]
            times = solved

    def duration(self, step: Step) -> int:
        return len(step.target) * self.page_bytes if step.kind == "copy" else step.duration_ns

    def writes_of(self, page: Page) -> list[Landed]:
        """Everything that ever lands on a page, in host issue order."""
        result = []
        for index, step in enumerate(self.steps):
            if page not in step.target or step.kind not in ("copy", "write"):
                continue
            start, end = self.times[index]
            if step.kind == "write":
                result.append(Landed(index, end, end))
            else:
                place, count = step.target.index(page), len(step.target)
                moved = [start + turn * (end - start) // count for turn in (place, place + 1)]
                result.append(Landed(index, *moved))
        return result

    def versions(self, write: Landed, page: Page) -> frozenset[int]:
        """What one write may put into a page: a copy moves what its source held when the page's first byte moved."""
        step = self.steps[write.step]
        if step.kind == "write":
            return frozenset([step.version])
        return self.content(step.source[step.target.index(page)], write.begin_ns)

    def content(self, page: Page, time_ns: int) -> frozenset[int]:
        """Versions that the page may hold, whole, at this time."""
        known = self._contents.get((page, time_ns))
        if known is None:
            writes = self.writes_of(page)
            before = [write for write in writes if write.end_ns < time_ns]
            last_ns = max((write.end_ns for write in before), default=-1)
            candidates = [write for write in before if write.end_ns == last_ns]
            candidates += [write for write in writes if write.end_ns == time_ns]
            found = {version for write in candidates for version in self.versions(write, page)}
            known = frozenset(found if before else {*found, self.initial[page[0]]})
            self._contents[page, time_ns] = known
        return known

    def in_flight(self, page: Page, time_ns: int) -> list[Landed]:
        """Writes that are inside the page at this time, the youngest landings only; more than one where they tie."""
        inside = [write for write in self.writes_of(page) if write.begin_ns < time_ns < write.end_ns]
        begin_ns = max((write.begin_ns for write in inside), default=0)
        return [write for write in inside if write.begin_ns == begin_ns]

    def wanted(self, page: Page, index: int) -> int:
        """What host issue order promises for the page to whoever is issued as step `index`."""
        for i in range(index - 1, -1, -1):
            step = self.steps[i]
            if page in step.target and step.kind == "write":
                return step.version
            if page in step.target and step.kind == "copy":
                return self.wanted(step.source[step.target.index(page)], i)
        return self.initial[page[0]]

    def is_before(self, first: int, second: int) -> bool:
        """True where streams and events order one step before another."""
        todo, seen = [second], set[int]()
        while todo:
            for earlier in self.predecessors[todo.pop()]:
                if earlier == first:
                    return True
                if earlier not in seen:
                    seen.add(earlier)
                    todo.append(earlier)
        return False

    def is_promised(self, page: Page, index: int) -> bool:
        """True where order alone guarantees that this step finds the wanted version in the page.

        All writes of the page are ordered among themselves and against the step, and what they copied was promised.
        """
        writers = [
            i for i, s in enumerate(self.steps) if page in s.target and s.kind in ("copy", "write") and i != index
        ]
        for i in writers:
            if not (self.is_before(i, index) if i < index else self.is_before(index, i)):
                return False
            if any(i < j < index and not self.is_before(i, j) for j in writers):
                return False
        last = max((i for i in writers if i < index), default=None)
        if last is None or self.steps[last].kind == "write":
            return True
        step = self.steps[last]
        return self.is_promised(step.source[step.target.index(page)], last)
