"""`infer-check stress` against a target: its own command, given our prompts.

Owns: its words, and reading its result file. Does not own: the peer; where it is not installed its columns stay empty.
Source: infer-check 0.2.6 (PyPI, Apache-2.0). It says one number at its end, so that is when its user can know.
"""

from __future__ import annotations

import asyncio
import json
import tempfile
from asyncio.subprocess import DEVNULL
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.peers.client import MAX_TOKENS
from benchmarks.peers.found import Found
from benchmarks.peers.questions import Question
from benchmarks.stubs.clock import now_ns
from harness.simulation.run import MODEL

NAME = "infer-check"


async def infer_check(command: Path, url: str, target: str, seed: int, asked: Sequence[Question]) -> Found:
    """An alarm is a consistency below 100 % or an error; the command itself leaves the reading to its user."""
    levels = (1, len(asked))
    with tempfile.TemporaryDirectory() as folder:
        prompts = Path(folder) / "prompts.jsonl"
        rows = ({"id": str(n), "text": one.text, "max_tokens": MAX_TOKENS} for n, one in enumerate(asked))
        prompts.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
        words = ["stress", "--model", MODEL, "--backend", "openai-compat", "--base-url", url, "--prompts", str(prompts)]
        words += ["--concurrency", ",".join(map(str, levels)), "--output", folder]
        began_ns = now_ns()
        child = await asyncio.create_subprocess_exec(command, *words, cwd=folder, stdout=DEVNULL, stderr=DEVNULL)
        exit_code = await child.wait()
        seconds = (now_ns() - began_ns) / 1e9
        results = [level for file in Path(folder).glob("stress_*.json") for level in json.loads(file.read_text())]
    errors = sum(int(level["error_count"]) for level in results)
    shares = [float(level["output_consistency"]) for level in results]
    is_alarm = not results or errors > 0 or min(shares) < 1.0
    requests = len(levels) * len(asked)
    return Found(
        tool=NAME,
        target=target,
        seed=seed,
        is_alarm=is_alarm,
        # A reply that it could not use is one that a sound server gives: these prompts have an answer.
        is_true=(errors > 0 or _points_at_wrong(results, asked)) if is_alarm else None,
        alarm_s=seconds if is_alarm else None,
        alarm_requests=requests if is_alarm else None,
        total_s=seconds,
        total_requests=requests,
        exit_code=exit_code,
        said=", ".join(f"{share:.0%}" for share in shares) + (f", {errors} errors" if errors else ""),
    )


def _points_at_wrong(results: Sequence[dict[str, Any]], asked: Sequence[Question]) -> bool:
    """Whether a prompt whose outputs differ has a wrong one among them."""
    texts: dict[str, set[str]] = {}
    for level in results:
        for one in level["results"]:
            texts.setdefault(one["prompt_id"], set()).add(one["text"])
    return any(
        not asked[int(name)].is_right(text) for name, outputs in texts.items() if len(outputs) > 1 for text in outputs
    )
