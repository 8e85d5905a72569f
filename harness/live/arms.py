"""Two servers or more, in blocks of time that alternate between them, over the same workloads.

Owns: the order of the blocks, and the record of what there is, also where it was stopped. Does not own: one run
(`run.py`), the figures (`arms_record.py`). Floor 5. Source: ours. A server's state drifts with the hour and with what
others ask of it, so arms that run one after the other as wholes cannot be compared; blocks next to each other can, and
the block is the unit (`results/stats/blocks`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import astuple, dataclass, replace
from pathlib import Path

from harness.live.arms_record import ArmBlock, arms_record
from harness.live.outcome import INTERRUPTED, LiveResult
from harness.live.request import LiveRequest
from harness.live.run import LiveRun, run_live
from harness.load.generator import LoadProgress
from harness.simulation import provenance
from harness.simulation.run import RunProgress
from kernels.errors import KVRaceError
from results.layout import new_run_folder
from results.matrix.folder import RUNS, write_matrix
from results.matrix.record import MatrixRecord
from results.verdict import RunVerdict


@dataclass(frozen=True, slots=True)
class ArmsProgress:
    """Which arm runs, in which block, counted from 1. run: all blocks so far of all arms, as if they were one run."""

    arm: str
    block: int
    blocks: int
    run: RunProgress

    @property
    def where(self) -> str:
        return f"{self.arm}, block {self.block} of {self.blocks}"


class ArmsRun:
    """`stop` may be called from a signal handler: the block that runs ends early, and no further one begins."""

    def __init__(
        self, requests: Sequence[LiveRequest], *, blocks: int, out: Path, on_progress: Callable[[ArmsProgress], None]
    ) -> None:
        self.requests = tuple(requests)
        self.blocks = blocks
        self.began = provenance.utc_now()
        stamp = self.began.strftime("%Y%m%dT%H%M%SZ")
        self.folder = new_run_folder(out, f"{stamp}-arms-{'-'.join(request.target.name for request in requests)}")
        self.done: list[ArmBlock] = []
        self.is_interrupted = False
        self.ended_by: str | None = None
        self._on_progress = on_progress
        self._came_to: list[RunProgress] = []
        self._run: LiveRun | None = None

    def stop(self) -> None:
        self.is_interrupted = True
        if self._run is not None:
            self._run.stop()

    def cells(self) -> list[tuple[int, LiveRequest]]:
        """Every (block, request), in time. Who begins alternates, so that neither always finds the other's traces."""
        order = []
        for block in range(self.blocks):
            turned = self.requests if block % 2 == 0 else self.requests[::-1]
            order += [(block, request) for request in turned]
        return order

    def run_cell(
        self, block: int, request: LiveRequest, on_loop: Callable[[asyncio.AbstractEventLoop], None]
    ) -> LiveResult:
        """One arm's part of one block: the block's own seed, the same for every arm."""
        name, now = request.target.name, RunProgress(LoadProgress(0, 0), 0)

        def moved(progress: RunProgress) -> None:
            nonlocal now
            now = progress
            self._on_progress(ArmsProgress(name, block + 1, self.blocks, _together([*self._came_to, progress])))

        own = replace(request.in_block(block), store=self.folder / RUNS, on_progress=moved)
        self._run = LiveRun(own)
        result = run_live(self._run, on_loop=on_loop)
        self._came_to.append(now)
        self.done.append(ArmBlock(request.target.name, block, result))
        return result

    def exit_code(self, record: MatrixRecord) -> int:
        """As of one run: 130 interrupted, 1 corruption, 4 not judged or cut short by a server."""
        if self.is_interrupted:
            return INTERRUPTED
        if record.partial and record.verdict is RunVerdict.CLEAN:
            return RunVerdict.UNKNOWN.exit_code
        return record.verdict.exit_code


def run_arms(arms: ArmsRun, *, on_loop: Callable[[asyncio.AbstractEventLoop], None]) -> MatrixRecord:
    """Run every cell, or until one is cut short; then write the record.

    Raises: KVRaceError of a block that cannot be run, once what was done before is recorded.
    """
    for block, request in arms.cells():
        if arms.is_interrupted:
            break
        try:
            result = arms.run_cell(block, request, on_loop)
        except KeyboardInterrupt:
            # Between two event loops, where no handler listens.
            arms.stop()
            break
        except KVRaceError as problem:
            arms.ended_by = f"block {block} of {request.target.name}: {problem}"
            _write(arms)
            raise
        if result.summary.partial:
            arms.ended_by = f"block {block} of {request.target.name}: {result.stopped_by}"
            break
    return _write(arms)


def _together(parts: Sequence[RunProgress]) -> RunProgress:
    """Their sums; what is asked again is of the last, which is the one that runs."""
    load = LoadProgress(*map(sum, zip(*(astuple(part.load) for part in parts), strict=True)))
    return RunProgress(load, sum(part.corrupted for part in parts), parts[-1].asked_again)


def _write(arms: ArmsRun) -> MatrixRecord:
    record = arms_record(
        arms.requests, arms.done, blocks=arms.blocks, began=arms.began.isoformat(timespec="seconds"),
        ended_by=arms.ended_by,
    )  # fmt: skip
    write_matrix(arms.folder, record)
    return record
