"""Which worker gets which job next: one seed's jobs stay with one worker, as long as that keeps everybody busy.

Owns: the order. Does not own: processes (`workers`). Floor 5. Source: ours.

Runs of one seed send mostly the same text, so a worker that has run one of them has tokenised it and built its pages.
Seed after seed also means that an interrupted campaign has whole seeds, which is what statistics need.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from harness.search.job import Job


class Schedule:
    """Hands out jobs, each once."""

    def __init__(self, jobs: Sequence[Job]) -> None:
        groups: dict[int, deque[Job]] = {}
        for job in jobs:
            groups.setdefault(job.seed, deque()).append(job)
        self._fresh = deque(groups.values())
        self._owned: dict[int, deque[Job]] = {}

    def __repr__(self) -> str:
        return f"Schedule({len(self._fresh)} seeds not begun, {sum(map(len, self._owned.values()))} jobs of begun ones)"

    def next_for(self, worker: int) -> Job | None:
        """The worker's next job; None when no job is left for anybody."""
        own = self._owned.get(worker)
        if own:
            return own.popleft()
        if self._fresh:
            self._owned[worker] = self._fresh.popleft()
            return self._owned[worker].popleft()
        # Better to build some pages twice than to idle: take over from whoever has most to do.
        longest = max(self._owned.values(), key=len, default=None)
        return longest.pop() if longest else None
