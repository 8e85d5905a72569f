"""The main scenario through other people's load balancers: the same replies, the same verdict.

Owns: the virtual run, turn by turn, and the commands as a user types them, in wall-clock time. Does not own: faults
(`test_faults.py`). Floor: tests.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack
from functools import cache
from pathlib import Path

import pytest

from benchmarks.live.balancers import BALANCERS, Balancer, door, in_front
from harness.cli.main import main
from harness.config import load_scenario
from harness.simulation.run import Door, RunRequest, RunResult, Simulation, own_router, run_to_end
from kernels.engine.shared import SharedModel
from results.reader import open_run
from results.records import TurnRecord
from results.verdict import RunVerdict
from tests.harness.cli.child import TEST_S, child
from tests.harness.tiny import TINY

pytestmark = [pytest.mark.timeout(TEST_S), pytest.mark.parametrize("balancer", BALANCERS)]

GATE = {"cache.gate_index_k": "true"}
ARMS = {"incident": [], "gated": ["--set", "cache.gate_index_k=true"]}
SEED = 22811
SHORT = ("turns_min=3", "turns_max=3", "think_s=0.1", "start_spread_s=0.2", "groups=1", "fork_share=0")
SIZES = ["--sessions", "6", "--prompt-tokens", "5000", "--serial-check", "0"]
SIZES += [word for value in SHORT for word in ("--set", f"workload.{value}")]


@cache
def shared_model() -> SharedModel:
    return SharedModel()


def run(is_gated: bool, way: Door) -> RunResult:
    scenario = load_scenario(str(TINY), GATE if is_gated else {})
    return run_to_end(Simulation(RunRequest(scenario, SEED, shared_model(), None, "again", door=way)))


@cache
def through_our_router(is_gated: bool) -> RunResult:
    return run(is_gated, own_router)


def by_turn(result: RunResult) -> list[TurnRecord]:
    return sorted(result.turns, key=lambda turn: turn.key)


@pytest.mark.parametrize("is_gated", [False, True], ids=["incident", "gated"])
def test_every_turn_is_the_same_in_virtual_time(balancer: Balancer, is_gated: bool, tmp_path: Path) -> None:
    """Replies, times and machine evidence: the balancer has added nothing, lost nothing and mixed nothing up."""
    result, ours = run(is_gated, door(balancer, tmp_path)), through_our_router(is_gated)
    assert ours.summary.verdict is (RunVerdict.CLEAN if is_gated else RunVerdict.CORRUPT)
    assert (result.summary.verdict, len(result.turns)) == (ours.summary.verdict, ours.summary.turns)
    assert by_turn(result) == by_turn(ours)


@pytest.fixture(scope="module")
def pairs() -> Iterator[dict[str, dict[str, str]]]:
    """The addresses of two served pairs, which live in processes of their own."""
    with ExitStack() as stack:
        words = ["serve", "--scenario", str(TINY), "--speed", "8", "--json"]
        served = {name: stack.enter_context(child(*words, *further)) for name, further in ARMS.items()}
        yield {name: json.loads(one.first_line("stdout")) for name, one in served.items()}


def test_stress_gives_the_same_verdicts(
    balancer: Balancer, pairs: dict[str, dict[str, str]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The command as a user types it. A seed of its own for each balancer, so that nothing is in the caches from the
    one before."""
    found = {}
    for name, address in pairs.items():
        workers = {"prefill_url": address["prefill"], "decode_url": address["decode"]}
        with in_front(balancer, **workers, folder=tmp_path) as front:
            words = ["stress", "--base-url", front.base_url, *SIZES, "--seed", str(SEED + BALANCERS.index(balancer))]
            code = main([*words, "--json", "--quiet", "--out", str(tmp_path / name)])
        shown = json.loads(capsys.readouterr().out)
        errors = [turn.error for turn in open_run(Path(shown["run_dir"])).turns if turn.error is not None]
        # Salad that goes on until it is cut off is not judged, and when it comes is the weather's.
        assert (errors, shown["turns"], shown["partial"]) == ([], 18, False)
        found[name] = (code, shown["verdict"])
    assert found == {"incident": (1, "corrupt"), "gated": (0, "clean")}
