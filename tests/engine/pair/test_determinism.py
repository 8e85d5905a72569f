"""One seed, one run: the trace does not depend on how time is cut, what was computed before, or the process."""

from __future__ import annotations

from typing import Any

import pytest

from kernels.engine.shared import SharedModel
from tests.engine.pair.stage import BARE, GATED, LATE, Stage
from tests.engine.pair.talks import Writer

NARROW: dict[str, Any] = {"delays": (), "layer_us": 100.0, "jitter": 0.3}
RANDOM: dict[str, Any] = {"delays": ("h2d.index_k=lognormal:300us,1.0", "handoff=exponential:500us")}


def busy(shared: SharedModel, *, step_ns: int | None = None, **changes: Any) -> tuple[str, list[tuple[str, list[int]]]]:
    """Six sessions with two turns each, all at once. Returns: the trace's digest, and every reply with its times."""
    stage = Stage(shared, **{"variant": BARE, "device_pages": 80, **changes})
    writer = Writer(shared, 41)
    base = writer.talk(1_000)
    talks = [writer.talk(tokens, after=base) for tokens in (2_000, 3_000, 4_000, 5_000, 6_000, 2_500)]
    for turn in range(2):
        for talk in talks:
            stage.submit(talk, talk.names[-1 - turn])
        while step_ns is not None and stage.machine.next_time_ns() is not None:
            stage.run_ns(step_ns)
        stage.machine.run()
        if turn == 0:
            # The next turn is submitted at a time of its own, wherever the steps ended.
            stage.machine.advance_to(5_000_000_000)
    stage.check_at_rest()
    return stage.digest, [(asked.decode.text, asked.decode.times_ns) for asked in stage.asked]


@pytest.mark.parametrize("changes", [{"delays": (LATE,)}, NARROW, RANDOM, {"variant": GATED}])
def test_same_seed_twice(shared: SharedModel, changes: dict[str, Any]) -> None:
    assert busy(shared, seed=1, **changes) == busy(shared, seed=1, **changes)


def test_another_seed_is_another_run(shared: SharedModel) -> None:
    runs = [busy(shared, seed=seed, **NARROW) for seed in (1, 2)]
    assert runs[0][0] != runs[1][0]
    assert runs[0][1] != runs[1][1], "other luck, other times"


@pytest.mark.parametrize("step_ns", [1_000, 123_457, 50_000_000])
def test_it_does_not_matter_how_time_is_cut(shared: SharedModel, step_ns: int) -> None:
    assert busy(shared, step_ns=step_ns, **NARROW) == busy(shared, **NARROW)


def test_it_does_not_matter_what_was_computed_before(shared: SharedModel) -> None:
    """Shared results are functions of content: a fresh process comes to the same."""
    busy(shared, variant=GATED)
    assert busy(shared, **NARROW) == busy(SharedModel(), **NARROW)
