"""The gap to the floor: what one schedule of 20 copies and a reader costs, and which part of ours costs how much.

Owns: timing the parts. Does not own: the bare scheduler (`bare.py`), ours (`kernels.races.scheduler`), storing.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass

from benchmarks.page import Figures
from benchmarks.races.bare import BareCopies
from kernels.races.scheduler.execution import Execution
from kernels.races.scheduler.plan import Plan
from kernels.races.strategies.random_walk import RandomWalk

LAYERS = 20
SCHEDULES = 3_000


@dataclass(frozen=True, slots=True)
class Gap:
    """One schedule of 20 copies and a reader: where its time goes. Microseconds; steps of one schedule."""

    bare_us: float
    bare_steps: float
    bare_halves_us: float
    bare_halves_steps: float
    ours_us: float
    ours_steps: float
    setting_up_us: float
    choosing_us: float
    comparing_the_end_us: float

    @property
    def stepping_us(self) -> float:
        return self.ours_us - self.setting_up_us - self.choosing_us - self.comparing_the_end_us


def where_time_goes(plan: Plan, seed: int, rounds: int) -> Gap:
    """Parts of a schedule of this plan, each timed by itself; what is left is the stepping."""
    walk, whole, halves = RandomWalk(seed), BareCopies(LAYERS, 1, seed), BareCopies(LAYERS, 2, seed)
    over = Execution(plan)
    choices, steps = len(over.run(walk).choices), over.step_count
    standing = Execution(plan)
    assert len(standing.runnable) > 1, "a choice among one is none"

    def us(what: Callable[[], object], count: int = SCHEDULES) -> float:
        return statistics.median(_cpu_us(what, count) for _ in range(rounds))

    timed = {
        "bare_us": us(whole.schedule),
        "bare_halves_us": us(halves.schedule),
        "ours_us": us(lambda: Execution(plan).run(walk)),
        "setting_up_us": us(lambda: Execution(plan)),
        "choosing_us": choices * us(lambda: walk.choose(standing)),
        "comparing_the_end_us": us(lambda: over.memory != plan.promised(over.node)),
    }
    scheduled = rounds * SCHEDULES
    return Gap(
        bare_steps=whole.steps / scheduled, bare_halves_steps=halves.steps / scheduled, ours_steps=steps, **timed
    )


def _cpu_us(what: Callable[[], object], count: int) -> float:
    began_s = time.process_time()
    for _ in range(count):
        what()
    return 1e6 * (time.process_time() - began_s) / count


def gap_table(gap: Gap, command: str) -> Figures:
    per_s = {name: f"{1e6 / us:,.0f}" for name, us in asdict(gap).items() if name.endswith("_us")}
    rows = (
        ("bare generators", f"{gap.bare_us:.1f}", f"{gap.bare_steps:.0f}", per_s["bare_us"]),
        (
            "bare generators, copies in halves",
            f"{gap.bare_halves_us:.1f}",
            f"{gap.bare_halves_steps:.0f}",
            per_s["bare_halves_us"],
        ),
        ("ours", f"{gap.ours_us:.1f}", f"{gap.ours_steps:.0f}", per_s["ours_us"]),
        ("of that: set up an execution", f"{gap.setting_up_us:.1f}", "", ""),
        ("the strategy's choices", f"{gap.choosing_us:.1f}", "", ""),
        ("compare the memory at the end", f"{gap.comparing_the_end_us:.1f}", "", ""),
        ("the steps themselves", f"{gap.stepping_us:.1f}", "", ""),
    )
    return Figures(("20 copies, a reader", "us", "steps", "schedules a second"), rows, f"CPU time. `{command}`")
