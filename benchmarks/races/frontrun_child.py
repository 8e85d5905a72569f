"""The peer's side of the comparison: `frontrun` on the same programs, in an interpreter of its own.

Owns: the two programs as threads, and timing them. Does not own: ours (`peer_speed.py`, which starts this file). It
imports nothing of the project, because the interpreter is not ours:

    PYTHON -m frontrun.cli PYTHON benchmarks/races/frontrun_child.py PROGRAM STRATEGY SCHEDULES SEED

prints one JSON object. The invariant counts failures and always holds, so that the search does not end at the first.
"""

import importlib
import json
import sys
import time
from typing import Any

WARM_UP = 5


class Counter:
    def __init__(self) -> None:
        self.value = 0

    def add_one(self) -> None:
        seen = self.value
        self.value = seen + 1

    @property
    def has_failed(self) -> bool:
        return self.value != 2


class Pool:
    """Copies and a reader."""

    def __init__(self, layers: int) -> None:
        self.layers = layers
        self.device = [0] * layers
        self.stale = 0

    def copy(self) -> None:
        for layer in range(self.layers):
            self.device[layer] = 1

    def read(self) -> None:
        for layer in range(self.layers):
            if self.device[layer] != 1:
                self.stale += 1

    @property
    def has_failed(self) -> bool:
        return self.stale > 0


PROGRAMS: dict[str, dict[str, Any]] = {
    "lost update": {"setup": Counter, "workers": [Counter.add_one, Counter.add_one]},
    "4 copies, a reader": {"setup": lambda: Pool(4), "workers": [Pool.copy, Pool.read]},
    "20 copies, a reader": {"setup": lambda: Pool(20), "workers": [Pool.copy, Pool.read]},
}


def measure(program: str, strategy: str, schedules: int, seed: int) -> dict[str, Any]:
    """Run so many schedules."""
    frontrun = importlib.import_module("frontrun")
    failures = 0

    def note(state: Any) -> bool:
        nonlocal failures
        failures += state.has_failed
        return True

    def explore(count: int) -> Any:
        if strategy == "random":
            return frontrun.explore(invariant=note, strategy="random", max_attempts=count, seed=seed, **chosen)
        # Without the bound on preemptions, which ours does not have either.
        options = {"max_executions": count, "preemption_bound": None, "stop_on_first": False}
        return frontrun.explore(invariant=note, strategy="dpor", **options, **chosen)

    chosen = PROGRAMS[program]
    explore(WARM_UP)
    failures, done = 0, 0
    began_s, began_cpu_s = time.perf_counter(), time.process_time()
    while done < schedules:
        # A program with few orders is explored again.
        done += explore(schedules - done).num_explored
    return {
        "schedules": done,
        "failures": failures,
        "wall_s": time.perf_counter() - began_s,
        "cpu_s": time.process_time() - began_cpu_s,
    }


if __name__ == "__main__":
    _, name, how, count, seed = sys.argv
    print(json.dumps(measure(name, how, int(count), int(seed))))
