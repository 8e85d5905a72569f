"""Our own command against a target, as a user would type it.

Owns: its words, and reading what it left behind. Does not own: anything that it does (`run.py stress`).
"""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
from asyncio.subprocess import PIPE
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.peers.found import Found
from benchmarks.peers.process import ROOT
from benchmarks.stubs.clock import busy_for, now_ns
from results.reader import Run, open_run
from results.records import TurnRecord

NAME = "ours"
_CORRUPT = 1
_SESSIONS = ("--sessions", "8", "--prompt-tokens", "5000", "--think", "constant:0")
_SHAPE = ("groups=1", "start_spread_s=0", "fork_share=0", "turns_min=3", "turns_max=3")
_LOOK_S = 0.01


@dataclass(frozen=True, slots=True)
class _Ended:
    """begun_s: from the start of the process to that of the run, of which the turns' times count."""

    exit_code: int
    fields: dict[str, Any]
    run: Run | None
    begun_s: float
    seconds: float


async def ours(url: str, target: str, seed: int, *, serial: bool = True) -> Found:
    """serial: with the replies asked for again alone, as the command does unless told otherwise."""
    with tempfile.TemporaryDirectory() as folder:
        ended = await _stress(url, seed, folder, serial=serial)
    is_alarm = ended.exit_code == _CORRUPT
    first = _first_corrupted(ended.run) if is_alarm and ended.run is not None else None
    seen = [] if ended.run is None or first is None else [one for one in ended.run.turns if _is_sent_by(one, first)]
    return Found(
        tool=NAME,
        target=target,
        seed=seed,
        is_alarm=is_alarm,
        is_true=None if first is None else not _is_planted(first),
        alarm_s=None if first is None else ended.begun_s + (first.finished_ns or 0) / 1e9,
        alarm_requests=None if first is None else len(seen),
        total_s=ended.seconds,
        total_requests=0 if ended.run is None else len(ended.run.turns),
        exit_code=ended.exit_code,
        said=_said(ended),
        start_s=ended.begun_s,
    )


async def _stress(url: str, seed: int, folder: str, *, serial: bool) -> _Ended:
    words = [sys.executable, "run.py", "stress", "--base-url", f"{url}/v1", "--seed", str(seed), "--out", folder]
    words += [*_SESSIONS, "--json", "--quiet"]
    for text in _SHAPE:
        words += ["--set", f"workload.{text}"]
    if not serial:
        words += ["--serial-check", "0"]
    began_ns = now_ns()
    child = await asyncio.create_subprocess_exec(*words, cwd=ROOT, stdout=PIPE, stderr=PIPE)
    begun = asyncio.ensure_future(_begun_s(Path(folder), began_ns))
    shown, complained = await child.communicate()
    begun.cancel()
    await asyncio.wait([begun])
    begun_s = 0.0 if begun.cancelled() else begun.result()
    # A command that breaks ends with 1 as well, and must not pass for one that has found something.
    assert shown.strip(), f"our own command has failed: {complained.decode()[-2000:]}"
    fields = json.loads(shown)
    run = open_run(Path(fields["run_dir"])) if fields.get("run_dir") else None
    return _Ended(child.returncode or 0, fields, run, begun_s, (now_ns() - began_ns) / 1e9)


async def _begun_s(folder: Path, began_ns: int) -> float:
    """A run makes its folder before it sends anything of its load."""
    while not any(folder.iterdir()):
        await busy_for(_LOOK_S)
    return (now_ns() - began_ns) / 1e9


def _first_corrupted(run: Run) -> TurnRecord | None:
    corrupted = {(one.session, one.turn) for one in run.judgements if one.is_corrupted}
    ended = [turn for turn in run.turns if turn.key in corrupted and turn.finished_ns is not None]
    return min(ended, key=lambda turn: turn.finished_ns or 0, default=None)


def _is_sent_by(turn: TurnRecord, first: TurnRecord) -> bool:
    return turn.sent_ns is not None and first.finished_ns is not None and turn.sent_ns <= first.finished_ns


def _is_planted(turn: TurnRecord) -> bool:
    """Whether the reply is the planted call, found out without the oracles."""
    expected = turn.expected
    if expected is None or len(turn.tool_calls) != 1:
        return False
    (call,) = turn.tool_calls
    try:
        return call.name == expected.name and json.loads(call.arguments) == expected.arguments
    except json.JSONDecodeError:
        return False


def _said(ended: _Ended) -> str:
    """The verdict, and the classes of what was found."""
    kinds = ", ".join(sorted(ended.fields.get("kinds") or {}))
    return f"{ended.fields.get('verdict')}: {kinds}" if kinds else str(ended.fields.get("verdict"))
