"""All tools against all targets in one run: `python -m benchmarks.peers`, or `make bench-peers`.

Owns: the order of the runs, the budget of time, keeping what was measured after every seed. Does not own: tools,
targets, tables (`page`).

    python -m benchmarks.peers [--minutes 25] [--seed 700] [--seeds-max 20] [--infer-check PATH] [--tools ours,certify]

`--tools` measures these once more, and keeps what is stored of the others.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from collections.abc import Mapping
from contextlib import AsyncExitStack

from benchmarks.peers.found import Found
from benchmarks.peers.naming import named
from benchmarks.peers.ours import NAME as OURS
from benchmarks.peers.ours import ours
from benchmarks.peers.page import refill_page
from benchmarks.peers.process import TargetProcess, target_process
from benchmarks.peers.questions import questions
from benchmarks.peers.record import Record, stored
from benchmarks.peers.targets import TARGETS
from benchmarks.peers.tools import Asking, Tool, tools
from benchmarks.stubs.clock import now_ns
from benchmarks.stubs.peer import find_peer
from kernels.engine.prompt import PromptReader

REPLAYS = 10


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--minutes", type=float, default=25.0, help="no seed begins later")
    parser.add_argument("--seed", type=int, default=700)
    parser.add_argument("--seeds-max", type=int, default=20)
    parser.add_argument("--infer-check", help="the command; else the one on the path")
    parser.add_argument("--tools", help="only these, comma separated; the stored runs of the others stay")
    arguments = parser.parse_args()
    found = find_peer(arguments.infer_check)
    peer = None if found is None else found.absolute()
    if peer is None:
        print("infer-check is not installed, so its row stays empty: pip install infer-check", file=sys.stderr)
    kit = tools(peer)
    wanted = set(kit) if arguments.tools is None else set(arguments.tools.split(","))
    if unknown := sorted(wanted - set(kit)):
        print(f"there is no tool {', '.join(unknown)}; there are {', '.join(kit)}", file=sys.stderr)
        return 2
    kit = {name: tool for name, tool in kit.items() if name in wanted}
    record = Record(command=f"python -m benchmarks.peers --minutes {arguments.minutes:g} --seed {arguments.seed}")
    if arguments.tools is not None:
        record.take_over(stored(), without=wanted)
        record.command += f" --tools {arguments.tools}"
    record.names = [named(target, arguments.seed) for target in TARGETS]
    try:
        asyncio.run(_measure(record, arguments, kit))
    except KeyboardInterrupt:
        print("interrupted; what was measured is kept", file=sys.stderr)
    if record.runs:
        refill_page(stored())
    return 0


async def _measure(record: Record, arguments: argparse.Namespace, kit: Mapping[str, Tool]) -> None:
    began_ns = now_ns()
    reader = PromptReader()
    async with AsyncExitStack() as stack:
        processes = {one.name: await stack.enter_async_context(target_process(one.name)) for one in TARGETS}
        for seed in range(arguments.seed, arguments.seed + arguments.seeds_max):
            if (now_ns() - began_ns) / 60e9 > arguments.minutes:
                break
            record.runs += await _one_seed(seed, kit, processes, reader)
            record.load_average.append(round(os.getloadavg()[0], 1))
            record.keep()
        if OURS in kit:
            record.replays = [await _replays(name, processes[name], record.runs) for name in processes]
        record.keep()


async def _one_seed(
    seed: int, kit: Mapping[str, Tool], processes: Mapping[str, TargetProcess], reader: PromptReader
) -> list[Found]:
    asked, found = questions(seed, reader), []
    for target, process in processes.items():
        for tool in kit.values():
            one = await tool(Asking(await process.fresh(seed), target, seed, asked))
            found.append(one)
            print(f"seed {seed} {one.tool:<12}{target:<22}{one.said}", file=sys.stderr, flush=True)
    return found


async def _replays(name: str, process: TargetProcess, runs: list[Found]) -> tuple[str, int, int]:
    """Our own command once more with the seed of its first alarm, ten times, each time against a fresh server."""
    first = next((run for run in runs if run.tool == "ours" and run.target == name and run.is_alarm), None)
    if first is None:
        return (name, 0, 0)
    again = [await ours(await process.fresh(first.seed), name, first.seed, serial=False) for _ in range(REPLAYS)]
    found = sum(one.is_alarm for one in again)
    print(f"replays of seed {first.seed}  {name:<22}{found} of {REPLAYS}", file=sys.stderr, flush=True)
    return (name, found, REPLAYS)


if __name__ == "__main__":
    sys.exit(main())
