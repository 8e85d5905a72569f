"""The controls against live stub servers: sound, wrong under load, and not exercised at all. Floor: tests."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.stubs.behaviour import Behaviour, StubEngine
from benchmarks.stubs.controls import run_controls
from benchmarks.stubs.server import serving
from benchmarks.stubs.workload import workload
from results.findings import Verdict

SEED = 3
FEW, MANY = workload(SEED, sessions=24, turns=2), workload(SEED, sessions=44, turns=2)
"""A prefix returns to R's cache only after more other requests than a few sessions send."""


@pytest.mark.parametrize(
    ("behaviour", "allowed"),
    [
        (Behaviour.SOUND, {Verdict.OK}),
        (Behaviour.NUMERIC, {Verdict.NUMERIC, Verdict.OK}),
        (Behaviour.CORRUPT, {Verdict.VIOLATED}),
        (Behaviour.RETURNING, {Verdict.VIOLATED}),
        (Behaviour.REPEATABLE, {Verdict.VIOLATED}),
    ],
)
@pytest.mark.asyncio
async def test_each_stub_gets_its_verdict(behaviour: Behaviour, allowed: set[Verdict]) -> None:
    async with serving(StubEngine(behaviour, np.random.default_rng(SEED))) as url:
        answer = await run_controls(url, MANY if behaviour is Behaviour.RETURNING else FEW)
    assert answer.verdict in allowed, (SEED, answer.reason)


@pytest.mark.asyncio
async def test_three_servers_that_tested_nothing_get_three_sentences() -> None:
    small = workload(SEED, sessions=8, turns=2)
    sound = Behaviour.SOUND
    async with serving(StubEngine(sound, np.random.default_rng(SEED)), one_at_a_time=True) as url:
        serial = await run_controls(url, small)
    async with serving(StubEngine(sound, np.random.default_rng(SEED), has_cache=False)) as url:
        uncached = await run_controls(url, small)
    dead = await run_controls(url, small)
    assert {one.verdict for one in (serial, uncached, dead)} == {Verdict.UNKNOWN}
    assert "1 request at a time" in serial.reason
    assert "the cache is off" in uncached.reason
    assert "the server is dead" in dead.reason
