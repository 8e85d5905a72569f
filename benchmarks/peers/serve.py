"""One target as a process of its own: a fresh pair on loopback for every line that it reads.

Owns: putting the defect in, and the life of the pairs. Does not own: the list (`targets`), who asks (`process`).
Started by the benchmark as `python -m benchmarks.peers.serve NAME`: a line with a seed on standard input ends the pair
before and begins a new one, whose base URL is the line of the answer; the end of the input ends the process.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from types import MappingProxyType

from benchmarks.peers.targets import SCENARIO, Target, target_named
from harness.config import Scenario, load_scenario
from harness.load.pacer import Pacer
from harness.pair.engines import ModelFacts
from harness.pair.pair import Pair, PairOptions
from harness.simulation.assembly import assemble
from harness.simulation.run import MODEL
from kernels.engine.shared import SharedModel

SPEED = 2.0
"""Simulated seconds for each real one. At a much higher speed a client's own milliseconds would look like a pause to
the machine, and requests that a client sends together would not meet."""


def scenario_of(target: Target, further: Mapping[str, str] = MappingProxyType({})) -> Scenario:
    return load_scenario(str(SCENARIO), {**target.overrides, **further})


@asynccontextmanager
async def serving(target: Target, seed: int, shared: SharedModel) -> AsyncIterator[str]:
    """A fresh pair, without the target's change of code. Gives its base URL, without `/v1`.

    A machine that fails takes its servers with it, as a process that dies would.
    """
    assembly = assemble(scenario_of(target), seed, shared)
    pacer = Pacer(assembly.machine, speed=SPEED)
    facts = ModelFacts(name=MODEL, details={"page_size": assembly.pair.spec.geometry.page_tokens})
    options = PairOptions(seed=seed, model=facts, host_hits=assembly.pair.host_hit_tokens)
    pair = Pair(assembly.pair.prefill, assembly.pair.decode, gate=pacer, options=options)
    async with pair:
        pacing = asyncio.ensure_future(_paced(pacer, pair))
        try:
            yield pair.router_url
        finally:
            pacing.cancel()
            await asyncio.wait([pacing])


async def _paced(pacer: Pacer, pair: Pair) -> None:
    try:
        await pacer.run()
    except (AssertionError, LookupError) as failure:
        print(f"the machine has failed: {failure}", file=sys.stderr, flush=True)
        await pair.__aexit__(None, None, None)


async def _serve(target: Target) -> None:
    shared = SharedModel()
    loop = asyncio.get_running_loop()
    line = await loop.run_in_executor(None, sys.stdin.readline)
    while line.strip():
        async with serving(target, int(line), shared) as url:
            print(url, flush=True)
            line = await loop.run_in_executor(None, sys.stdin.readline)


def main() -> None:
    target = target_named(sys.argv[1])
    with target.planted():
        asyncio.run(_serve(target))


if __name__ == "__main__":
    main()
