"""Corrupt or numeric? Our controls against five stub servers of known behaviour, `infer-check` beside them.

Owns: the runs, the table in docs/oracles.md. Does not own: stubs and driver (`benchmarks.stubs`), the verdict
(`results.oracles.divergence`).

    python -m benchmarks.divergence [--runs 20] [--seed 1000] [--peer PATH/TO/infer-check]
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from benchmarks.page import Figures, refill, store
from benchmarks.stubs.behaviour import Behaviour, StubEngine
from benchmarks.stubs.controls import Controlled, run_controls
from benchmarks.stubs.peer import CONCURRENCY, OWN_SUITE, OWN_SUITE_PROMPTS, PeerRun, find_peer, stress, write_prompts
from benchmarks.stubs.server import serving
from benchmarks.stubs.workload import workload
from results.findings import Verdict

ROOT = Path(__file__).resolve().parents[1]
FIGURES = ROOT / "benchmarks" / "results" / "oracles.json"
PAGE = ROOT / "docs" / "oracles.md"
UNREACHABLE = "http://127.0.0.1:9"
TRUTH = {
    Behaviour.SOUND: "sound",
    Behaviour.NUMERIC: "sound, near ties under load",
    Behaviour.CORRUPT: "corrupt, 15 % under load",
    Behaviour.RETURNING: "corrupt, when a long prefix returns",
    Behaviour.REPEATABLE: "corrupt, the same under each load",
}
ALLOWED = {
    Behaviour.SOUND: {Verdict.OK},
    Behaviour.NUMERIC: {Verdict.OK, Verdict.NUMERIC, Verdict.UNKNOWN},
    Behaviour.CORRUPT: {Verdict.VIOLATED},
    Behaviour.RETURNING: {Verdict.VIOLATED},
    Behaviour.REPEATABLE: {Verdict.VIOLATED},
}


@dataclass(slots=True)
class Tally:
    """Of one behaviour over all runs."""

    ours: list[Controlled] = field(default_factory=list)
    peer: list[PeerRun] = field(default_factory=list)
    peer_suite: list[PeerRun] = field(default_factory=list)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1_000)
    parser.add_argument("--peer", help="the infer-check command; else the one on the path")
    arguments = parser.parse_args()
    peer = find_peer(arguments.peer)
    if peer is None:
        print("infer-check is not installed, so its columns stay empty: pip install infer-check", file=sys.stderr)
    tallies, vacuous = asyncio.run(_all(arguments.runs, arguments.seed, peer))
    known = store(FIGURES, {"vacuity": _vacuous_table(vacuous)})
    if PAGE.exists():
        refill(PAGE, known)
    wrong = [
        f"{behaviour}: {one.verdict} ({one.reason})"
        for behaviour, tally in tallies.items()
        for one in tally.ours
        if one.verdict not in ALLOWED[behaviour]
    ]
    print("\n".join(wrong) or f"all {len(tallies) * arguments.runs} verdicts are right")
    return int(bool(wrong))


async def _all(runs: int, seed: int, peer: Path | None) -> tuple[dict[Behaviour, Tally], dict[str, Controlled]]:
    tallies = {behaviour: Tally() for behaviour in Behaviour}
    for run in range(runs):
        for behaviour, tally in tallies.items():
            await _one(behaviour, seed + run, peer, tally, with_suite=run == 0)
        # After every run: twenty of them take a while, and an interruption should cost only the one that it struck.
        store(FIGURES, {"divergence": _table(tallies, f"Seeds {seed}-{seed + run}, {run + 1} runs each.")})
        print(f"run {run + 1} of {runs}", file=sys.stderr, flush=True)
    return tallies, await _vacuous(seed)


async def _one(behaviour: Behaviour, seed: int, peer: Path | None, tally: Tally, *, with_suite: bool) -> None:
    load = workload(seed)
    async with serving(StubEngine(behaviour, np.random.default_rng(seed))) as url:
        tally.ours.append(await run_controls(url, load))
    if peer is None:
        return
    with tempfile.TemporaryDirectory() as folder:
        prompts = Path(folder) / "prompts.jsonl"
        write_prompts(load, prompts)
        async with serving(StubEngine(behaviour, np.random.default_rng(seed))) as url:
            tally.peer.append(await stress(peer, url, prompts))
        if with_suite:
            async with serving(StubEngine(behaviour, np.random.default_rng(seed))) as url:
                tally.peer_suite.append(await stress(peer, url, OWN_SUITE, OWN_SUITE_PROMPTS))


async def _vacuous(seed: int) -> dict[str, Controlled]:
    load, sound = workload(seed), Behaviour.SOUND
    async with serving(StubEngine(sound, np.random.default_rng(seed)), one_at_a_time=True) as url:
        serial = await run_controls(url, load)
    async with serving(StubEngine(sound, np.random.default_rng(seed), has_cache=False)) as url:
        uncached = await run_controls(url, load)
    dead = await run_controls(UNREACHABLE, load)
    return {"takes one request at a time": serial, "has its cache off": uncached, "is dead": dead}


def _table(tallies: dict[Behaviour, Tally], measured: str) -> Figures:
    rows = []
    for behaviour, tally in tallies.items():
        verdicts = Counter(one.verdict for one in tally.ours)
        differ = [one.report.load_differs for one in tally.ours]
        again = [sum(turn.is_repeatable for turn in one.report.turns) for one in tally.ours]
        rows.append(
            (
                f"{behaviour}: {TRUTH[behaviour]}",
                *(
                    verdicts[verdict] or ""
                    for verdict in (Verdict.VIOLATED, Verdict.NUMERIC, Verdict.UNKNOWN, Verdict.OK)
                ),
                _range(differ),
                _range(again),
                _consistency(tally.peer),
                _consistency(tally.peer_suite),
                ", ".join(sorted({str(run.exit_code) for run in (*tally.peer, *tally.peer_suite)})),
            )
        )
    levels = "/".join(map(str, CONCURRENCY))
    note = (
        f"{measured} 144 turns of 48 sessions, each asked four times. infer-check 0.2.6 `stress` at concurrency "
        f"{levels}: the lowest share of outputs equal to concurrency 1, over all runs with our 48 first questions, "
        f"and over one run of its own suite `{OWN_SUITE}`, {OWN_SUITE_PROMPTS} prompts."
    )
    columns = ("stub: truth", "CORRUPT", "NUMERIC", "UNKNOWN", "OK", "turns that differ", "of them the same twice")
    return Figures((*columns, "infer-check, our prompts", "its suite", "its exit code"), tuple(rows), note)


def _vacuous_table(vacuous: dict[str, Controlled]) -> Figures:
    rows = tuple((f"a sound server that {what}", str(one.verdict).upper(), one.reason) for what, one in vacuous.items())
    return Figures(("server", "verdict", "why"), rows, "One run each.")


def _range(values: list[int]) -> str:
    return f"{min(values)}-{max(values)}"


def _consistency(runs: list[PeerRun]) -> str:
    lows = [100 * min(run.consistency) for run in runs if run.consistency]
    if not lows:
        return "-"
    return f"{min(lows):.0f} %" if len(lows) == 1 else f"{min(lows):.0f}-{max(lows):.0f} %"


if __name__ == "__main__":
    sys.exit(main())
