"""The parent's end of a target's process.

Owns: starting it, asking it for a fresh pair, ending it. Does not own: what it serves (`serve`).
"""

from __future__ import annotations

import asyncio
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


class TargetProcess:
    """`async with target_process(name) as process`, then `await process.fresh(seed)` as often as one likes."""

    def __init__(self, process: Process) -> None:
        self._process = process

    async def fresh(self, seed: int) -> str:
        """End the pair that is served and begin another. Returns: its base URL, without `/v1`."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{seed}\n".encode())
        await self._process.stdin.drain()
        url = (await self._process.stdout.readline()).decode().strip()
        assert url, f"the target's process has ended with {await self._process.wait()}"
        return url

    async def end(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        await self._process.wait()


@asynccontextmanager
async def target_process(name: str) -> AsyncIterator[TargetProcess]:
    words = [sys.executable, "-m", "benchmarks.peers.serve", name]
    process = TargetProcess(
        await asyncio.create_subprocess_exec(*words, cwd=ROOT, stdin=PIPE, stdout=PIPE, stderr=DEVNULL)
    )
    try:
        yield process
    finally:
        await process.end()
