"""Whole runs over real sockets: what each arm shows, that a seed is a run, and that nothing is left over."""

from __future__ import annotations

import threading

import pytest

from harness.simulation.run import RunResult, Simulation, assembly_of, run_to_end
from kernels.engine.handoff import HANDOFF_POINT
from kernels.engine.shared import SharedModel
from kernels.hicache.invariants import check
from kernels.substrate.trace import MemoryTrace
from results.verdict import RunVerdict
from tests.harness.simulation.small_runs import Incident, simulation, small


def outcome(result: RunResult) -> tuple[str, list[tuple[object, ...]]]:
    """The digest, and what it should stand for."""
    turns: list[tuple[object, ...]] = [
        (turn.key, turn.sent_ns, turn.first_token_ns, turn.finished_ns, turn.content, turn.tool_calls, turn.machine)
        for turn in result.turns
    ]
    return result.summary.digest, turns


def at_rest(run: Simulation) -> None:
    """Nothing is held by anybody once every session is through."""
    assembly = assembly_of(run)
    assembly.machine.run()
    pair = assembly.pair
    check(pair.cache)
    assert pair.cache.leases == {}
    assert pair.cache.is_idle
    assert pair.prefill.flush_cache()
    assert pair.decode.flush_cache()
    assert pair.cache.device.free_pages == pair.cache.device.capacity_pages
    counters = pair.counters()
    assert counters["at_rest_mismatches"] == 0
    assert counters["handoffs"] == sum(turn.error is None for turn in run._turns)


def test_a_seed_is_a_run_also_beside_a_busy_thread(shared: SharedModel, incident: Incident) -> None:
    scenario = small("hicache_bf16")
    is_over = threading.Event()

    def burn() -> None:
        while not is_over.is_set():
            sum(range(1_000))

    thread = threading.Thread(target=burn)
    thread.start()
    try:
        again = outcome(run_to_end(simulation(scenario, shared)))
    finally:
        is_over.set()
        thread.join()
    assert again == outcome(incident.result)
    assert run_to_end(simulation(scenario, shared, seed=4)).summary.digest != again[0]


def test_the_incident_and_its_evidence(incident: Incident) -> None:
    run, result = incident.run, incident.result
    summary = result.summary
    assert summary.verdict is RunVerdict.CORRUPT
    assert summary.exit_code() == 1
    assert summary.turns == len(result.turns) == sum(len(plan.turns) for plan in run._workload.sessions)
    assert 0 < summary.turns_corrupted < summary.turns
    assert summary.load_backs > 0
    assert summary.decode_stale_reads == 0
    for turn, judgement in zip(result.turns, result.judgements, strict=True):
        assert turn.error is None
        machine = turn.machine
        assert machine is not None
        assert turn.prompt_tokens == machine.device_hit_tokens + machine.host_hit_tokens + machine.new_tokens
        assert turn.cached_tokens == machine.device_hit_tokens + machine.host_hit_tokens
        assert turn.sent_ns < (turn.first_token_ns or 0) <= (turn.finished_ns or 0)
        if judgement.is_corrupted:
            assert machine.stale_reads + machine.poisoned_reads > 0, "nothing goes wrong without a cause"
        if machine.stale_reads:
            assert machine.late_us_max is not None
            assert machine.late_us_max > 0
            assert {read.pool for read in machine.stale_sample} == {"index_k"}
    at_rest(run)


@pytest.mark.parametrize("name", ["hicache_bf16_gated", "hicache_bf16_fused", "off_bf16", "off_fp8"])
def test_the_other_arms_are_clean(shared: SharedModel, name: str) -> None:
    run = simulation(small(name), shared)
    result = run_to_end(run)
    summary = result.summary
    assert summary.verdict is RunVerdict.CLEAN
    assert summary.exit_code() == 0
    assert (summary.turns_corrupted, summary.stale_reads, summary.poisoned_reads) == (0, 0, 0)
    for turn in result.turns:
        (call,) = turn.tool_calls
        assert turn.expected is not None
        assert call.name == turn.expected.name
    is_off = name.startswith("off")
    assert (summary.load_backs == 0) == is_off
    assert (summary.host_hit_turns == 0) == is_off
    at_rest(run)


def test_the_workload_is_the_same_in_all_arms(shared: SharedModel, incident: Incident) -> None:
    """Replies differ, the load does not: what a session sends does not hang on what it was told."""
    other = run_to_end(simulation(small("off_bf16"), shared))
    sent, also = (
        {turn.key: (turn.prompt_tokens, turn.expected, turn.secrets) for turn in result.turns}
        for result in (incident.result, other)
    )
    assert sent == also


def test_a_further_trace_changes_nothing_and_has_everything(shared: SharedModel) -> None:
    scenario = small("hicache_bf16", workload__sessions=2, workload__fork_share=0.0)
    trace = MemoryTrace()
    run = simulation(scenario, shared, trace=trace)
    with_trace = run_to_end(run)
    assert outcome(with_trace) == outcome(run_to_end(simulation(scenario, shared)))
    handoffs = {op.label for op in trace.operations if op.point == HANDOFF_POINT}
    assert "handoff index_k" in handoffs
    assert "handoff metadata row" in handoffs
    assert sum(op.label == "handoff metadata row" for op in trace.operations) == len(with_trace.turns)
