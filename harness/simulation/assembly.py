"""From a scenario and a seed to a machine with a serving pair on it.

Owns: the map from configuration to the specifications of the floors below. Does not own: defaults (scenarios), rules
between values (`harness.config`). Floor 5.
"""

from __future__ import annotations

from dataclasses import dataclass

from harness.config import Scenario, cost_file_path, scenario_delays
from harness.simulation.backends import AnyMachine, BackendChoice, make_machine
from harness.simulation.device_memory import device_memory
from kernels.engine.pair import PairSpec, ServingPair
from kernels.engine.shared import SharedModel
from kernels.engine.spec import DecodeSpec, PrefillSpec
from kernels.errors import ConfigError
from kernels.hicache.geometry import preset
from kernels.hicache.paths import transfer_path
from kernels.hicache.sizing import PoolFormats
from kernels.hicache.spec import HiCacheSpec
from kernels.hicache.variant import Variant
from kernels.substrate.cost import CostModel
from kernels.substrate.cost_file import load_cost_model, with_override
from kernels.substrate.trace import DigestTrace, Tee, TraceSink

EXACT_TOP_K_MIN = 512
"""Chance puts some entries in front of the right one; this many always hold it (tests/engine: up to 40k tokens)."""


@dataclass(frozen=True, slots=True, eq=False)
class Assembly:
    """A machine, the pair on it, and the running digest of everything that the machine does."""

    machine: AnyMachine
    pair: ServingPair
    digest: DigestTrace


def assemble(
    scenario: Scenario,
    seed: int,
    shared: SharedModel,
    *,
    trace: TraceSink | None = None,
    backend: BackendChoice = BackendChoice(),  # noqa: B008 - frozen
) -> Assembly:
    """Build the machine and the pair.

    Args:
        shared: what runs of one process have in common.
        trace: a further sink for the machine's trace.
    """
    digest = DigestTrace()
    cost = cost_model(scenario)
    machine = make_machine(
        backend,
        cost,
        seed=seed,
        delays=scenario_delays(scenario),
        trace=digest if trace is None else Tee((digest, trace)),
        # A walk up the stack for each operation: only for a trace that somebody reads.
        has_call_sites=getattr(trace, "wants_call_sites", False),
    )
    return Assembly(machine, ServingPair(machine, cost, pair_spec(scenario), shared), digest)


def cost_model(scenario: Scenario) -> CostModel:
    """The cost file with the scenario's numbers on top."""
    cost = scenario.cost
    overrides: dict[str, float | None] = {
        "copy.gather_blocks": scenario.cache.io_blocks,
        "compute.fixed": cost.compute_fixed_us,
        "compute.new_token": cost.compute_slope_us_per_token,
        "compute.cached_token": cost.compute_cached_us_per_token,
        "jitter.copy": cost.jitter,
        "jitter.compute": cost.jitter,
        "host.enqueue": cost.host_enqueue_us,
        "copy.launch": cost.copy_launch_us,
        "copy.bandwidth_scale": cost.bandwidth_scale,
        "link.h2d": cost.h2d_gbps,
        "copy.gather": cost.h2d_gbps,
        "link.d2h": cost.d2h_gbps,
        "link.handoff": cost.handoff_gbps,
    }
    model = load_cost_model(cost_file_path(cost.file))
    for key, value in overrides.items():
        if value is not None:
            model = with_override(model, key, value)
    return model


def pair_spec(scenario: Scenario) -> PairSpec:
    """What the floors below are built from. Raises: ConfigError for a geometry whose selection is too narrow,
    and for pools that do not fit their device."""
    cache, engine = scenario.cache, scenario.engine
    geometry = preset(cache.preset)
    if geometry.top_k < EXACT_TOP_K_MIN:
        raise ConfigError(
            f"preset '{cache.preset}' can be sized but not run: it selects {geometry.top_k} entries, and the recall"
            f" model is right on a clean path only from {EXACT_TOP_K_MIN} on",
            key="cache.preset",
            value=cache.preset,
        )
    memory = device_memory(scenario)
    return PairSpec(
        geometry=geometry,
        cache=HiCacheSpec(
            device_tokens=memory.tokens,
            host_tokens=cache.host_tokens if cache.hicache else 0,
            formats=PoolFormats(index_k=cache.index_k),
            policy=cache.write_policy,
            path=transfer_path(cache.layout, cache.io),
            load_back_threshold_tokens=cache.load_back_threshold_tokens,
            remedy=cache.remedy,
        ),
        variant=Variant(
            gate_index_k=cache.gate_index_k, index_k_store=cache.index_k_store, ungated=frozenset(cache.ungated)
        ),
        prefill=PrefillSpec(
            batch_max=engine.batch_max,
            chunk_tokens=engine.chunk_tokens,
            step_ns=round(engine.host_step_us * 1_000),
            head_start_ns=round(engine.head_start_us * 1_000),
            workspace_bytes=memory.workspace_bytes,
        ),
        decode=DecodeSpec(batch_max=engine.decode_batch_max, step_ns=round(engine.decode_step_ms * 1_000_000)),
        decode_tokens=cache.decode_tokens,
        tp=engine.tp,
        numerics=engine.numerics,
    )
