"""A prefill device of so many bytes: pools first, as many tokens as the formula grants; forwards get what is left.

Owns: how a scenario's memory becomes tokens and room for activations. Does not own: formulas (`kernels.hicache.audit`),
running out under load (`kernels.engine.prefill`). Floor 5.
Source: SGLang 0.5.16: `mem_fraction_static` divides a device in two, and sets 1.5 MiB aside for each token of a chunk.

So the first thing that a small over-commit breaks is not a pool: pools are made when the server starts, out of memory
that is there, and they never overlap. It is the forward that was promised the rest.
"""

from __future__ import annotations

from dataclasses import dataclass

from harness.config import Scenario
from harness.config.checks import prompt_tokens_expected
from kernels.engine.spec import ACTIVATION_BYTES_PER_TOKEN
from kernels.errors import ConfigError
from kernels.hicache.audit.allocation import first_failure
from kernels.hicache.audit.judgement import Question, audit
from kernels.hicache.geometry import preset
from kernels.hicache.sizing import PoolFormats


@dataclass(frozen=True, slots=True)
class DeviceMemory:
    """tokens: size of the device pools. workspace_bytes: room for a forward; None where memory is not modelled."""

    tokens: int
    workspace_bytes: int | None


def device_memory(scenario: Scenario) -> DeviceMemory:
    """Raises: ConfigError where the pools do not even fit the device: its first allocation that fails."""
    cache = scenario.cache
    if cache.kv_memory_gb is None:
        return DeviceMemory(cache.device_tokens, None)
    geometry = preset(cache.preset)
    divided = round(cache.kv_memory_gb * 1e9)
    found = audit(Question(geometry, PoolFormats(index_k=cache.index_k), cache.index_formula, divided))
    device_bytes = divided + scenario.engine.chunk_tokens * ACTIVATION_BYTES_PER_TOKEN
    prompt = prompt_tokens_expected(scenario.workload)
    if prompt > found.tokens:
        raise ConfigError(
            f"cache.kv_memory_gb = {cache.kv_memory_gb:g} grants {found.tokens:,} tokens, and a prompt of about"
            f" {prompt:,} does not fit into them",
            key="cache.kv_memory_gb",
            value=cache.kv_memory_gb,
        )
    failure = first_failure(found.pools, geometry, device_bytes)
    if failure is not None:
        raise ConfigError(
            f"out of device memory at the start: {failure.kind} of layer {failure.layer} needs"
            f" {failure.needed_bytes:,} bytes, and {failure.left_bytes:,} of {device_bytes:,} are left"
            f" (cache.index_formula = '{cache.index_formula}' grants {found.tokens:,} tokens)",
            key="cache.kv_memory_gb",
            value=cache.kv_memory_gb,
        )
    return DeviceMemory(found.tokens, device_bytes - found.allocated_bytes)
