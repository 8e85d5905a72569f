"""`infer-check` beside us: the same stub, the same prompts, its own command line.

Owns: finding it, starting it, reading its result file. It is an optional peer: where it is not installed, that is said
and its columns stay empty. Source: infer-check 0.2.6 (PyPI, Apache-2.0), its `stress` command.
"""

from __future__ import annotations

import asyncio
import json
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from benchmarks.stubs.server import MODEL
from benchmarks.stubs.workload import Workload

CONCURRENCY = (1, 48)
OWN_SUITE = "reasoning"
OWN_SUITE_PROMPTS = 50


@dataclass(frozen=True, slots=True)
class PeerRun:
    """What it prints of one stress test: the share of outputs equal to concurrency 1, for each concurrency."""

    consistency: tuple[float, ...]
    errors: int
    exit_code: int


def find_peer(given: str | None) -> Path | None:
    """The command that was named, or the one on the path."""
    found = given or shutil.which("infer-check")
    return Path(found) if found is not None and Path(found).is_file() else None


async def stress(command: Path, base_url: str, prompts: Path | str, count: int | None = None) -> PeerRun:
    with tempfile.TemporaryDirectory() as folder:
        arguments = ["stress", "--model", MODEL, "--backend", "openai-compat", "--base-url", base_url]
        arguments += ["--prompts", str(prompts), "--concurrency", ",".join(map(str, CONCURRENCY)), "--output", folder]
        if count is not None:
            arguments = ["--num-prompts", str(count), *arguments]
        child = await asyncio.create_subprocess_exec(
            command, *arguments, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        exit_code = await child.wait()
        levels = [level for file in Path(folder).glob("*.json") for level in json.loads(file.read_text())]
    return PeerRun(
        consistency=tuple(float(level["output_consistency"]) for level in levels),
        errors=sum(int(level["error_count"]) for level in levels),
        exit_code=exit_code,
    )


def write_prompts(load: Workload, path: Path) -> None:
    """The first question of every session, in the peer's own format."""
    lines = (
        json.dumps({"text": "\n".join(message["content"] for message in turns[0].messages), "max_tokens": 256})
        for turns in load.turns
    )
    path.write_text("\n".join(lines) + "\n")
