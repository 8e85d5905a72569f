"""From a scenario to a machine: every number arrives where it belongs, in the unit that is counted there."""

from __future__ import annotations

import numpy as np
import pytest

from harness.simulation.assembly import assemble, cost_model, pair_spec
from harness.simulation.records import UNKNOWN_LATENESS_US, machine_evidence
from kernels.engine.evidence import RequestEvidence
from kernels.engine.shared import SharedModel
from kernels.errors import ConfigError
from kernels.substrate.contract import PageView, Region
from kernels.substrate.virtual.memory import VirtualBuffer
from tests.harness.simulation.small_runs import small


def test_the_engines_get_nanoseconds() -> None:
    scenario = small(
        "hicache_bf16",
        engine__host_step_us=120.0,
        engine__head_start_us=3.5,
        engine__decode_step_ms=12.5,
        engine__batch_max=7,
        engine__chunk_tokens=4_096,
        engine__decode_batch_max=9,
        engine__tp=2,
    )
    spec = pair_spec(scenario)
    assert (spec.prefill.step_ns, spec.prefill.head_start_ns) == (120_000, 3_500)
    assert (spec.prefill.batch_max, spec.prefill.chunk_tokens) == (7, 4_096)
    assert (spec.decode.step_ns, spec.decode.batch_max) == (12_500_000, 9)
    assert (spec.decode_tokens, spec.tp) == (100_000, 2)


@pytest.mark.parametrize(
    ("name", "host_tokens", "index_k", "is_gated", "store"),
    [
        ("hicache_bf16", 200_000, "bf16", False, "fallback"),
        ("hicache_bf16_gated", 200_000, "bf16", True, "fallback"),
        ("hicache_bf16_fused", 200_000, "bf16", False, "fused"),
        ("hicache_fp8", 200_000, "fp8", False, "fallback"),
        ("off_bf16", 0, "bf16", False, "fallback"),
        ("off_fp8", 0, "fp8", False, "fallback"),
    ],
)
def test_arms_differ_in_their_named_switches_only(
    name: str, host_tokens: int, index_k: str, is_gated: bool, store: str
) -> None:
    spec = pair_spec(small(name))
    assert (spec.cache.host_tokens, spec.cache.formats.index_k) == (host_tokens, index_k)
    assert (spec.variant.gate_index_k, spec.variant.index_k_store) == (is_gated, store)
    base = pair_spec(small("hicache_bf16"))
    assert spec.cache.device_tokens == base.cache.device_tokens
    assert (spec.prefill, spec.decode, spec.decode_tokens, spec.tp) == (
        base.prefill,
        base.decode,
        base.decode_tokens,
        base.tp,
    )
    assert cost_model(small(name)) == cost_model(small("hicache_bf16"))


def test_costs_of_the_scenario_go_on_top_of_the_file() -> None:
    plain = cost_model(small("hicache_bf16"))
    changed = cost_model(small("hicache_bf16", cost__h2d_gbps=7.5, cost__compute_fixed_us=99.0, cost__jitter=0.0))
    assert plain.gather_bandwidth == pytest.approx(10.8)
    assert changed.gather_bandwidth == pytest.approx(7.5)
    assert changed.link.h2d.value == 7.5
    assert changed.layer_ns(0, 0) == 99_000
    assert (changed.jitter.copy.value, changed.jitter.compute.value) == (0.0, 0.0)
    assert changed.link.d2h == plain.link.d2h
    half = cost_model(small("hicache_bf16", cost__bandwidth_scale=0.5))
    assert half.gather_bandwidth == pytest.approx(5.4)


def test_layouts_are_substituted_as_sglang_does() -> None:
    spec = pair_spec(small("hicache_bf16", cache__layout="page_first_direct", cache__io="kernel"))
    assert (spec.cache.path.layout, spec.cache.path.io) == ("page_first_direct", "direct")


def test_a_geometry_that_the_model_does_not_serve_is_refused(shared: SharedModel) -> None:
    with pytest.raises(ConfigError, match="dsa"):
        assemble(small("hicache_bf16", cache__preset="dsa"), 0, shared)


def view(late_ns: list[int], tears: list[float]) -> PageView:
    """A read of pages 10, 11, ... of which those with a lateness were stale."""
    count = len(late_ns)
    buffer = VirtualBuffer("pool", space="device:0", layer_count=1, page_count=10 + count, page_bytes=64)
    wanted = np.full((1, count), 7, dtype=np.int64)
    stale = np.array([late_ns], dtype=np.int64) != 0
    return PageView(
        region=Region(buffer, (0,), np.arange(10, 10 + count, dtype=np.int64)),
        wanted=wanted,
        head=wanted,
        tail=np.where(stale, 3, wanted),
        tear=np.array([tears], dtype=np.float32),
        late_ns=np.array([late_ns], dtype=np.int64),
    )


def test_evidence_is_told_in_microseconds_and_pages() -> None:
    evidence = RequestEvidence(device_hit_tokens=512, host_hit_tokens=1_024, new_tokens=100, batch=3, poisoned_reads=2)
    evidence.note("index_k", 4, view([0, 1_500, 250, 0], [1.0, 1.0, 0.5, 1.0]), slice(0, 3))
    evidence.note("index_k", 6, view([9_000, 9_000], [1.0, 1.0]), slice(1, 2))
    evidence.note("c4", 6, view([0, 0, 8_000], [1.0, 1.0, 1.0]), slice(0, 2))
    told = machine_evidence(evidence)
    assert (told.device_hit_tokens, told.host_hit_tokens, told.new_tokens, told.batch) == (512, 1_024, 100, 3)
    assert (told.stale_reads, told.torn_reads, told.stale_layers) == (3, 1, 2)
    assert told.late_us_max == 9.0
    assert (told.poisoned_reads, told.decode_stale_reads) == (2, 0)
    assert [(read.pool, read.layer, read.pages, read.late_us, read.torn) for read in told.stale_sample] == [
        ("index_k", 4, (11, 12), 1.5, 1),
        ("index_k", 6, (11,), 9.0, 0),
    ]


def test_lateness_that_is_not_known_is_not_made_up() -> None:
    evidence = RequestEvidence()
    evidence.note("index_k", 4, view([-1], [1.0]), slice(0, 1))
    told = machine_evidence(evidence)
    assert told.late_us_max is None
    assert told.stale_sample[0].late_us == UNKNOWN_LATENESS_US
    assert machine_evidence(RequestEvidence()).late_us_max is None
