"""The sizing bug in a run: under load a forward finds no room, alone it does, and with the right formula always.

Owns: the scenario `pool_overcommit` and its twin, in small. Floor: tests.
"""

from __future__ import annotations

import pytest

from harness.config import diff, load_scenario
from harness.simulation.assembly import pair_spec
from harness.simulation.run import RunResult, Simulation, assembly_of, run_to_end
from kernels.engine.shared import SharedModel
from kernels.errors import ConfigError
from kernels.hicache.invariants import check
from results.verdict import RunVerdict
from tests.harness.simulation.small_runs import simulation, small

MIB = 2**20


def run(shared: SharedModel, name: str, **changes: object) -> tuple[Simulation, RunResult]:
    started = simulation(small(name, **changes), shared)
    return started, run_to_end(started)


def test_the_twin_differs_in_the_formula_only() -> None:
    changed = diff(load_scenario("pool_overcommit"), load_scenario("pool_overcommit_fixed"))
    assert changed == {"cache.index_formula": ("fp8", "allocated")}
    assert set(diff(load_scenario("off_bf16"), load_scenario("pool_overcommit"))) == {
        "cache.index_formula",
        "cache.kv_memory_gb",
    }


def test_the_formula_decides_how_much_room_a_forward_has() -> None:
    wrong, right = pair_spec(small("pool_overcommit")), pair_spec(small("pool_overcommit_fixed"))
    assert wrong.cache.device_tokens == pytest.approx(13.02e9 / 7_705.45, abs=256)
    assert right.cache.device_tokens == pytest.approx(13.02e9 / 8_409.75, abs=256)
    # 1.5 MiB for each of a chunk's 8,192 tokens, less what the pools take beyond their 13.02 GB: 704.3 B a token.
    assert wrong.prefill.workspace_bytes is not None
    assert right.prefill.workspace_bytes is not None
    promised = 8_192 * 1.5 * MIB
    assert wrong.prefill.workspace_bytes == pytest.approx(promised - 704.3 * wrong.cache.device_tokens, abs=10e6)
    assert promised <= right.prefill.workspace_bytes <= promised + 12e6


def test_where_no_memory_is_given_pools_are_sized_in_tokens() -> None:
    spec = pair_spec(small("off_bf16"))
    assert (spec.cache.device_tokens, spec.prefill.workspace_bytes) == (24_000, None)


def test_under_load_a_forward_finds_no_room_and_the_engine_dies(shared: SharedModel) -> None:
    started, result = run(shared, "pool_overcommit")
    assert "out of device memory: a forward of " in result.failure
    assert result.summary.counters["out_of_memory"] == 1
    failed = [turn for turn in result.turns if turn.error is not None]
    assert failed
    assert all("out of device memory" in (turn.error or "") for turn in failed)
    assert result.summary.verdict is not RunVerdict.CLEAN
    # It takes its memory with it: nobody holds a page any more, and time did not stop.
    assembly = assembly_of(started)
    assembly.machine.run()
    check(assembly.pair.cache)
    assert assembly.pair.cache.leases == {}
    assert assembly.pair.decode.flush_cache()


def test_with_the_right_formula_the_same_load_is_clean(shared: SharedModel) -> None:
    _, result = run(shared, "pool_overcommit_fixed")
    assert (result.failure, result.summary.verdict) == ("", RunVerdict.CLEAN)
    assert "out_of_memory" not in result.summary.counters


def test_one_session_alone_never_fills_a_chunk(shared: SharedModel) -> None:
    _, result = run(shared, "pool_overcommit", workload__sessions=1, workload__groups=1)
    assert (result.failure, result.summary.turns_corrupted) == ("", 0)
    assert all(turn.error is None for turn in result.turns)


def test_a_seed_fails_in_the_same_way_again(shared: SharedModel) -> None:
    first, again = (run(shared, "pool_overcommit")[1] for _ in range(2))
    assert (first.failure, first.summary.digest) == (again.failure, again.summary.digest)


def test_pools_that_do_not_fit_the_device_are_refused_at_the_start() -> None:
    # 512 tokens' worth of room beside the pools is less than the 1.19 GB that they take too much.
    with pytest.raises(ConfigError, match=r"at the start: c4_state of layer \d+ needs [\d,]+ bytes"):
        pair_spec(small("pool_overcommit", engine__chunk_tokens=512))
    assert pair_spec(small("pool_overcommit_fixed", engine__chunk_tokens=512)).prefill.workspace_bytes


def test_a_formula_without_a_memory_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"index_formula = 'fp8' divides no memory: set cache\.kv_memory_gb"):
        small("off_bf16", cache__index_formula="fp8")


def test_a_memory_that_holds_no_prompt_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"kv_memory_gb = 0\.05 grants [\d,]+ tokens, and a prompt"):
        pair_spec(small("pool_overcommit", cache__kv_memory_gb=0.05))
