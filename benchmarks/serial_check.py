"""Whole stress runs with their serial check against stub servers of known behaviour: is each told for what it is?

Owns: the runs and the table in docs/oracles.md. Does not own: the stubs (`benchmarks.stubs`), the run
(`harness.live`), the verdict (`results.serial`).

    python -m benchmarks.serial_check [--runs 20] [--seed 1000]
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from benchmarks.page import Figures, refill, store
from benchmarks.stubs.behaviour import Behaviour
from benchmarks.stubs.recalling import RecallingEngine
from benchmarks.stubs.server import MODEL, serving
from harness.live.arrivals import load_shape
from harness.live.outcome import LiveResult
from harness.live.request import LiveRequest
from harness.live.run import LiveRun
from harness.live.serial.settings import DEFAULT_TURNS, SerialSettings
from harness.live.stress_request import TRANSPORTS
from harness.live.target import Target
from harness.live.workload import live_workload
from results.verdict import RunVerdict

ROOT = Path(__file__).resolve().parents[1]
FIGURES = ROOT / "benchmarks" / "results" / "serial.json"
PAGE = ROOT / "docs" / "oracles.md"
SESSIONS = 48
PROMPT_TOKENS = 1_800
WORKLOAD = {
    "workload.turns_min": "3",
    "workload.turns_max": "3",
    "workload.think_s": "0",
    "workload.start_spread_s": "0",
    "workload.fork_share": "0",
}


@dataclass(frozen=True, slots=True)
class Truth:
    """A stub and what may be said of it. allowed: of the run."""

    words: str
    traits: Mapping[str, Any]
    allowed: frozenset[RunVerdict]


_SOUND = frozenset({RunVerdict.CLEAN})
_UNLESS_CORRUPT = frozenset({RunVerdict.CLEAN, RunVerdict.UNKNOWN})
_CORRUPT = frozenset({RunVerdict.CORRUPT})
TRUTHS: Mapping[str, Truth] = MappingProxyType({
    "sound": Truth("sound", {}, _SOUND),
    "numeric": Truth("sound, near ties under load", {"behaviour": Behaviour.NUMERIC}, _SOUND),
    "corrupt": Truth("corrupt, 15 % under load", {"behaviour": Behaviour.CORRUPT}, _CORRUPT),
    "repeatable": Truth("corrupt, the same under each load", {"behaviour": Behaviour.REPEATABLE}, _CORRUPT),
    "returning": Truth("corrupt, when a long prefix returns", {"behaviour": Behaviour.RETURNING}, _CORRUPT),
    "spoiled": Truth("a load spoils 10 % of the cached prompts", {"spoils": 0.1}, _CORRUPT),
    "weak": Truth("the model fails 30 %, always the same", {"fails": 0.3}, _UNLESS_CORRUPT),
    "fickle": Truth("the model fails 30 %, by chance", {"fails": 0.3, "is_fickle": True}, _UNLESS_CORRUPT),
    "weak_5": Truth("the model fails 5 %, always the same", {"fails": 0.05}, _UNLESS_CORRUPT),
    "fickle_5": Truth("the model fails 5 %, by chance", {"fails": 0.05, "is_fickle": True}, _UNLESS_CORRUPT),
    "fickle_1": Truth("the model fails 1 %, by chance", {"fails": 0.01, "is_fickle": True}, _UNLESS_CORRUPT),
    "weak_corrupt": Truth("fails 30 %, and corrupt under load", {"fails": 0.3, "behaviour": Behaviour.CORRUPT},
                          _CORRUPT),
    "weak_blind": Truth("the same, and tells no log-probabilities",
                        {"fails": 0.3, "behaviour": Behaviour.CORRUPT, "tells": False}, _CORRUPT),
})  # fmt: skip


@dataclass(slots=True)
class Tally:
    """Of one stub over all runs."""

    results: list[LiveResult] = field(default_factory=list)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1_000)
    arguments = parser.parse_args()
    tallies = {name: Tally() for name in TRUTHS}
    for run in range(arguments.runs):
        for name, truth in TRUTHS.items():
            tallies[name].results.append(asyncio.run(_one(truth, arguments.seed + run)))
        # After every run: an interruption should cost only the one that it struck.
        note = f"Seeds {arguments.seed}-{arguments.seed + run}, {run + 1} runs each; {SESSIONS} sessions of 3 turns at "
        note += f"once, --serial-check {DEFAULT_TURNS}."
        known = store(FIGURES, {"serial": _table(tallies, note)})
        print(f"run {run + 1} of {arguments.runs}", file=sys.stderr, flush=True)
    if PAGE.exists():
        refill(PAGE, known)
    wrong = [
        f"{name}: {result.summary.verdict} ({result.summary.verdict_reason})"
        for name, tally in tallies.items()
        for result in tally.results
        if result.summary.verdict not in TRUTHS[name].allowed
    ]
    print("\n".join(wrong) or f"all {len(TRUTHS) * arguments.runs} verdicts are right")
    return int(bool(wrong))


async def _one(truth: Truth, seed: int) -> LiveResult:
    traits = dict(truth.traits)
    behaviour = traits.pop("behaviour", Behaviour.SOUND)
    tells = traits.pop("tells", True)
    engine = RecallingEngine(behaviour, np.random.default_rng(seed), **traits)
    async with serving(engine, tells_logprobs=tells) as url:
        return await LiveRun(_request(f"{url}/v1", seed)).run()


def _request(url: str, seed: int) -> LiveRequest:
    load = load_shape("closed", SESSIONS, None, None)
    spec = live_workload(load, source="builtin", prompt_tokens=PROMPT_TOKENS, overrides=WORKLOAD)
    return LiveRequest(
        target=Target("stub", url), model=MODEL, workload=spec, load=load, seed=seed, max_tokens=160,
        transport_name="raw", transport=TRANSPORTS["raw"], store=None, repeat="", serial=SerialSettings(DEFAULT_TURNS),
    )  # fmt: skip


def _table(tallies: Mapping[str, Tally], note: str) -> Figures:
    rows = []
    for name, tally in tallies.items():
        verdicts = Counter(one.summary.verdict for one in tally.results)
        checks = [one.serial for one in tally.results if one.serial is not None]
        of_check = Counter(str(one.verdict) for one in checks)
        rows.append(
            (
                TRUTHS[name].words,
                *(verdicts[verdict] or "" for verdict in (RunVerdict.CORRUPT, RunVerdict.UNKNOWN, RunVerdict.CLEAN)),
                ", ".join(f"{count} {word}" for word, count in sorted(of_check.items())),
                _range([one.summary.turns_corrupted for one in tally.results]),
                _range([one.wrong_alone for one in checks]),
                _range([one.requests for one in checks]),
                sum(one.summary.verdict not in TRUTHS[name].allowed for one in tally.results),
            )
        )
    columns = ("stub: truth", "CORRUPT", "UNKNOWN", "CLEAN", "the check alone", "wrong turns of 144",
               "of them wrong alone", "requests of the check", "wrong verdicts")  # fmt: skip
    return Figures(columns, tuple(rows), note)


def _range(values: list[int]) -> str:
    return f"{min(values)}-{max(values)}" if values else "-"


if __name__ == "__main__":
    sys.exit(main())
