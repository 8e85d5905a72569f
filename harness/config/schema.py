"""The shape of a scenario: frozen structs, one a section, with the bounds of each value.

Owns: names, types and bounds. There are no defaults here: the one parameter set is `scenarios/base.toml`, so a
number is written in one place only. Does not own: reading files (`loading`), bounds across keys (`checks`).
Floor 5.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from msgspec import Meta, Struct

from kernels.engine.numerics import Numerics
from kernels.hicache.audit.costs import Formula
from kernels.hicache.remedy import RemedyName

# The upper bounds only keep out what no machine has, infinity above all.
Positive = Annotated[int, Meta(ge=1, le=10**12)]
NotNegative = Annotated[int, Meta(ge=0, le=10**12)]
Amount = Annotated[float, Meta(ge=0.0, le=1e12)]
PositiveAmount = Annotated[float, Meta(gt=0.0, le=1e12)]
Share = Annotated[float, Meta(ge=0.0, le=1.0)]
Name = Annotated[str, Meta(min_length=1)]

Pool = Literal["index_k", "c4", "c128", "swa"]


class CacheConfig(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The cache: geometry, both tiers, how pages move, and the named switches that are defects.

    gate_index_k: whether the index-K reader waits for its layer's load (False is the incident).
    index_k_store: `fused` runs the gated getter just before the bare read, on the same stream, and so masks it.
    remedy: what is put in for the missing gate, right or wrong (`verify-fix` judges them; docs/remedies.md).
    ungated: further pools whose reader skips the gate (the ablation).
    Pools are sized in tokens, so that a row of another size does not change how much fits; but where kv_memory_gb is
    set, the prefill device has so much memory for its pools, and as many tokens as the capacity formula grants.
    index_formula: the format in which that formula counts index-K entries, right or wrong (docs/sizing.md).
    """

    preset: Literal["deepseek-v4-flash", "deepseek-v4-pro", "dsa", "tiny"]
    index_k: Literal["bf16", "fp8"]
    hicache: bool
    gate_index_k: bool
    index_k_store: Literal["fallback", "fused"]
    remedy: RemedyName
    ungated: tuple[Pool, ...]
    device_tokens: Positive
    host_tokens: Positive
    decode_tokens: Positive
    write_policy: Literal["write_through", "write_through_selective", "write_back"]
    layout: Literal["layer_first", "page_first", "page_first_direct"]
    io: Literal["kernel", "direct"]
    io_blocks: Positive
    load_back_threshold_tokens: NotNegative
    index_formula: Formula
    kv_memory_gb: PositiveAmount | None = None


class EngineConfig(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The two engines. head_start_us: host time between enqueueing a load and launching the forward that needs it.

    numerics: `bf16` shifts log-probabilities with the size of the batch, which decides near ties (engine/numerics.py).
    """

    batch_max: Positive
    chunk_tokens: Positive
    tp: Annotated[int, Meta(ge=1, le=16)]
    decode_batch_max: Positive
    decode_step_ms: PositiveAmount
    host_step_us: Amount
    head_start_us: Amount
    max_new_tokens: Positive
    numerics: Numerics


class CostConfig(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The cost model: a data file of measured numbers, and what is set on top of it.

    compute_*: time per layer, the fitted knob. jitter: relative standard deviation of each operation's time.
    bandwidth_scale: multiplies every host link and copy bandwidth (an axis of `sweep`).
    compute_cached_us_per_token, host_enqueue_us, copy_launch_us, *_gbps: replace the file's figure; left out, the
    file's figure holds.
    """

    file: Name
    compute_fixed_us: PositiveAmount
    compute_slope_us_per_token: Amount
    jitter: Annotated[float, Meta(ge=0.0, lt=1.0)]
    bandwidth_scale: PositiveAmount
    compute_cached_us_per_token: Amount | None = None
    host_enqueue_us: Amount | None = None
    copy_launch_us: Amount | None = None
    h2d_gbps: PositiveAmount | None = None
    d2h_gbps: PositiveAmount | None = None
    handoff_gbps: PositiveAmount | None = None


class WorkloadSpec(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What the sessions do; together with a seed it determines every byte that they send.

    source: `builtin`, or `bfcl:DIR` for BFCL's tools and calls.
    system_tokens: aim for the shared system message with its tools. groups: how many different ones there are.
    first_message_tokens_*: the private runbook, uniform in [min, max]; its first `fact_span` holds what is asked.
    redundancy: how often each asked fact is written. decoys: facts behind the span that nobody asks for.
    call_tokens_max: longest call in tokens, so that a reply always fits.
    tool_result_*: lognormal(log_mean, log_sigma) tokens, cut at max.
    think_s, think_sigma: lognormal pause (median, sigma) before a follow-up turn; sigma 0 is constant.
    fork_share: share of sessions that continue another session's history. fork_note_tokens: their own first
    message. fork_delay_s: how long after the parent's turn they start. fork_anchored_share: share of their
    questions that ask for a fact in one of the parent's tool results.
    anchored_per_result: anchored facts in each tool result of a session that is not a fork.
    anchored_share: share of later questions that ask for one of those (not in forks).
    nominal_turn_s: assumed length of a turn; it serves only to estimate when a parent's turn is due.
    """

    source: Annotated[str, Meta(pattern="^(builtin|bfcl:.+)$", description="expected 'builtin' or 'bfcl:DIR'")]
    sessions: Positive
    groups: Positive
    turns_min: Positive
    turns_max: Positive
    start_spread_s: Amount
    think_s: Amount
    think_sigma: Amount
    nominal_turn_s: PositiveAmount
    system_tokens: Positive
    first_message_tokens_min: Positive
    first_message_tokens_max: Positive
    fact_span: Annotated[float, Meta(gt=0.0, le=1.0)]
    redundancy: Positive
    decoys: NotNegative
    call_tokens_max: Positive
    tool_result_log_mean: Amount
    tool_result_log_sigma: Amount
    tool_result_tokens_max: Positive
    anchored_per_result: NotNegative
    anchored_share: Share
    fork_share: Annotated[float, Meta(ge=0.0, le=0.9)]
    fork_note_tokens: Positive
    fork_delay_s: Amount
    fork_anchored_share: Share


class Scenario(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One configuration of everything, complete and checked.

    expect: what the scenario is there to show; `failure`: an engine that dies under load. delays: injected delay by
    named point, as written, for example {"h2d.index_k": "lognormal:200us,0.5"}; `harness.config.scenario_delays` gives
    the records.
    """

    name: Name
    summary: Name
    expect: Literal["corruption", "clean", "failure"]
    cache: CacheConfig
    engine: EngineConfig
    cost: CostConfig
    workload: WorkloadSpec
    delays: Mapping[str, str]
