"""Exhaustive search over the orders of conflicting steps: every outcome of a program, by as few schedules as is easy.

Owns: which order to try next, and when all are covered. Does not own: what conflicts (`events.py`), running. Floor 2b.
Source: dynamic partial-order reduction with sleep sets, Flanagan and Godefroid, POPL 2005. Differs: backtracking points
come from all immediate races of an execution, not from the last one of each step only, which is as right and simpler.

What it covers: all orders of steps, the outcomes of `query` included. What it takes on trust: that a thread which polls
again with the same local variables at the same place has not counted its polls anywhere else.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from kernels.races.scheduler.execution import STEPS_MAX, Execution
from kernels.races.scheduler.outcome import Outcome
from kernels.races.scheduler.plan import Plan
from kernels.races.search.events import Event, EventLog, forced_past
from kernels.races.strategies.issue_order import IssueOrder


class _Redundant(Exception):
    """All that could run leads to an order that was explored already. Never leaves this module."""


@dataclass(slots=True, eq=False)
class _Point:
    """One place in the order that is being explored. sleep: lane -> what it would do, explored earlier already."""

    enabled: tuple[int, ...]
    chosen: int
    todo: set[int]
    sleep: dict[int, Event]
    tried: dict[int, Event] = field(default_factory=dict)


class Exhaustive:
    """Explores one plan. `is_over` is True when every order has been covered."""

    def __init__(self, plan: Plan, steps_max: int = STEPS_MAX) -> None:
        self.name = "exhaustive"
        self.is_over = False
        self.was_cut = False
        self.order_count = 0
        self.answers: tuple[bool, ...] = ()
        """What the queries of the last order were answered."""
        self._plan = plan
        self._steps_max = steps_max
        self._points: list[_Point] = []
        self._log = EventLog()
        self._default = IssueOrder()

    def __repr__(self) -> str:
        return f"Exhaustive(orders={self.order_count}, depth={len(self._points)}, over={self.is_over})"

    def outcomes(self) -> Iterator[Outcome]:
        """One outcome for each order, until all are covered. May be left at any time."""
        while not self.is_over:
            self._log = EventLog()
            shared = self._plan.shared
            run = Execution(self._plan, observer=self._log)
            try:
                outcome = run.run(self, self._steps_max, asks_always=True)
            except _Redundant:
                outcome = None
            if self._plan.shared != shared:
                # A branch that was new shares more cells, so steps are finer from now on: what was covered by coarser
                # ones may have left orders out, and their choices cannot be replayed.
                self._points, self.order_count = [], 0
                continue
            self._note_races()
            if outcome is not None:
                self.order_count += 1
                self.was_cut |= outcome.is_cut
                self.answers = run.node.answers
                yield outcome
            self._next_order()

    # The strategy.

    def begin(self, run: Execution) -> None:
        self._default.begin(run)

    def choose(self, run: Execution) -> int:
        depth, runnable = len(self._log.events), run.runnable
        if depth < len(self._points):
            lane = self._points[depth].chosen
            assert lane in runnable, f"lane {lane} cannot run at step {depth}: the program is not deterministic"
        else:
            sleep = self._sleep_of_next()
            lane = runnable[self._default.choose(run)]
            if lane in sleep:
                awake = [other for other in runnable if other not in sleep]
                if not awake:
                    raise _Redundant
                lane = awake[0]
            self._points.append(_Point(tuple(runnable), lane, {lane}, sleep))
        self._log.begin(run, lane)
        return runnable.index(lane)

    def _sleep_of_next(self) -> dict[int, Event]:
        """What sleeps at a new point: what slept at the one before, and what was tried there, if it is independent."""
        if not self._points:
            return {}
        point, event = self._points[-1], self._log.events[-1]
        sleeping = {**point.sleep, **point.tried}
        return {lane: other for lane, other in sleeping.items() if lane != event.lane and not other.depends_on(event)}

    # Between two executions.

    def _note_races(self) -> None:
        """Every pair of dependent steps that only chance has ordered must be tried the other way round too."""
        events = self._log.events
        pasts: list[int] = []
        last_of_lane: dict[int, int] = {}
        completer: dict[int, int] = {}
        for index, event in enumerate(events):
            past = forced_past(index, event, pasts, last_of_lane, completer)
            for earlier in range(index - 1, -1, -1):
                if past >> earlier & 1 or not event.depends_on(events[earlier]):
                    continue
                self._turn_round(earlier, index, past)
                past |= pasts[earlier] | 1 << earlier
            pasts.append(past)
            last_of_lane[event.lane] = index
            completer.update(dict.fromkeys(event.completes, index))

    def _turn_round(self, earlier: int, later: int, past: int) -> None:
        """Before `earlier`, something must run that leads to `later`."""
        point, events = self._points[earlier], self._log.events
        leads = {events[k].lane for k in range(earlier + 1, later) if past >> k & 1}
        leads.add(events[later].lane)
        candidates = [lane for lane in point.enabled if lane in leads]
        if not candidates:
            point.todo.update(point.enabled)
        elif not point.todo & set(candidates):
            point.todo.add(candidates[0])

    def _next_order(self) -> None:
        """Go back to the last point where something is left to try."""
        events = self._log.events
        while self._points:
            depth = len(self._points) - 1
            point = self._points[-1]
            if depth < len(events):
                point.tried[point.chosen] = events[depth]
            left = [lane for lane in point.enabled if lane in point.todo - point.tried.keys() - point.sleep.keys()]
            if left:
                point.chosen = left[0]
                return
            self._points.pop()
        self.is_over = True
