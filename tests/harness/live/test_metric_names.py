"""What each server's page of metrics tells, under neutral names, and what it does not tell.

The pages are in the form in which the servers write them: SGLang's and vLLM's by Python's library, Dynamo's by Rust's,
llama.cpp's by hand.
"""

from __future__ import annotations

import pytest

from harness.live.metric_names import neutral, together

SGLANG = """# TYPE sglang:prompt_tokens_total counter
sglang:prompt_tokens_total{model_name="m"} 100.0
# TYPE sglang:num_running_reqs gauge
sglang:num_running_reqs{model_name="m",tp_rank="0",dp_rank="0"} 3.0
sglang:num_running_reqs{model_name="m",tp_rank="1",dp_rank="0"} 3.0
sglang:num_running_reqs{model_name="m",tp_rank="0",dp_rank="1"} 2.0
# TYPE sglang:load_back_tokens_total counter
sglang:load_back_tokens_total{pool="kv",tp_rank="0"} 512.0
sglang:load_back_tokens_total{pool="swa",tp_rank="0"} 128.0
sglang:load_back_tokens_total{pool="kv",tp_rank="1"} 512.0
# TYPE sglang:cached_tokens_total counter
sglang:cached_tokens_total{cache_source="device",model_name="m"} 40.0
sglang:cached_tokens_total{cache_source="host",model_name="m"} 24.0
"""
VLLM = """# TYPE vllm:prefix_cache_hits_total counter
vllm:prefix_cache_hits_total{engine="0"} 64.0
vllm:external_prefix_cache_hits_total{engine="0"} 32.0
vllm:prompt_tokens_cached_by_source_total{engine="0",source="device"} 64.0
vllm:prompt_tokens_cached_by_source_total{engine="0",source="host"} 32.0
vllm:kv_offload_total_bytes_total{transfer_type="CPU_to_GPU"} 4096.0
vllm:kv_offload_total_bytes_total{transfer_type="GPU_to_CPU"} 9999.0
vllm:num_requests_running{engine="0"} 7.0
vllm:num_requests_running{engine="1"} 1.0
vllm:request_success_total{finished_reason="stop"} 9.0
vllm:request_success_total{finished_reason="abort"} 2.0
vllm:corrupted_requests_total{engine="0"} 1.0
"""
KVBM = """# HELP kvbm_onboard_blocks_h2d The number of onboard blocks from host to device
# TYPE kvbm_onboard_blocks_h2d counter
kvbm_onboard_blocks_h2d 5
# TYPE kvbm_offload_blocks_d2h counter
kvbm_offload_blocks_d2h 8
# TYPE kvbm_matched_tokens counter
kvbm_matched_tokens 80
"""
FRONTEND = """# TYPE dynamo_frontend_inflight_requests gauge
dynamo_frontend_inflight_requests{model="m"} 9
# TYPE dynamo_frontend_queued_requests gauge
dynamo_frontend_queued_requests{model="m"} 4
# TYPE dynamo_frontend_output_tokens_total counter
dynamo_frontend_output_tokens_total{model="m"} 700
# TYPE dynamo_frontend_input_sequence_tokens histogram
dynamo_frontend_input_sequence_tokens_bucket{model="m",le="+Inf"} 3
dynamo_frontend_input_sequence_tokens_sum{model="m"} 3000
dynamo_frontend_input_sequence_tokens_count{model="m"} 3
"""
LLAMA = """# HELP llamacpp:prompt_tokens_total Number of prompt tokens processed.
# TYPE llamacpp:prompt_tokens_total counter
llamacpp:prompt_tokens_total 11
# TYPE llamacpp:tokens_predicted_total counter
llamacpp:tokens_predicted_total 22
# TYPE llamacpp:requests_processing gauge
llamacpp:requests_processing 1
# TYPE llamacpp:requests_deferred gauge
llamacpp:requests_deferred 2
"""


def engine(text: str) -> dict[str, float]:
    page = neutral(text)
    assert page is not None
    return dict(page.engine)


def test_sglang_ranks_and_pools_tell_the_same_count_again() -> None:
    assert engine(SGLANG) == {
        "server_prompt_tokens": 100, "server_cached_tokens": 64, "server_host_hit_tokens": 24,
        "server_load_back_tokens": 512, "server_running": 5,
    }  # fmt: skip


def test_vllm() -> None:
    found = engine(VLLM)
    assert found == {
        "server_cached_tokens": 64, "server_host_hit_tokens": 32, "server_external_hit_tokens": 32,
        "server_load_back_bytes": 4_096, "server_aborted_requests": 2, "server_running": 8,
        "server_corrupted_requests": 1,
    }  # fmt: skip


def test_what_comes_from_another_instance_is_no_host_tier() -> None:
    """With NIXL the connector's hits are pages of the prefill worker: they say nothing of memory."""
    text = "vllm:external_prefix_cache_hits_total 32\nvllm:nixl_bytes_transferred_sum 5\n"
    assert engine("vllm:external_prefix_cache_hits_total 32\n") == {"server_external_hit_tokens": 32}
    assert engine(text) == {}


def test_dynamo_blocks_and_the_page_of_its_frontend() -> None:
    assert engine(KVBM) == {
        "server_onboarded_blocks": 5, "server_offloaded_blocks": 8, "server_external_hit_tokens": 80,
    }  # fmt: skip
    front = neutral(FRONTEND)
    assert front is not None
    assert dict(front.engine) == {}
    assert together([front]) == {
        "server_prompt_tokens": 3_000, "server_generated_tokens": 700, "server_running": 9, "server_waiting": 4,
    }  # fmt: skip
    worker = neutral(VLLM)
    assert worker is not None
    # The worker tells of the same requests: they are not counted twice.
    assert together([front, worker])["server_running"] == 8
    assert together([worker, worker])["server_running"] == 16
    assert together([front, worker])["server_waiting"] == 4


def test_llama_cpp_and_lmcache() -> None:
    assert engine(LLAMA) == {
        "server_prompt_tokens": 11, "server_generated_tokens": 22, "server_running": 1, "server_waiting": 2,
    }  # fmt: skip
    lmcache = 'lmcache:num_hit_tokens_total{worker_id="0"} 256\nlmcache:num_stored_tokens_total{worker_id="0"} 512\n'
    assert engine(lmcache + "vllm:external_prefix_cache_hits_total 256\n") == {
        "server_external_hit_tokens": 256, "server_offloaded_tokens": 512,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("text", "hits"),
    [
        # The server can tell the tiers apart, and nothing came from the host.
        ('sglang:cached_tokens_total{cache_source="device"} 5\n', 0),
        # It cannot.
        ('sglang:cached_tokens_total{cache_source="total"} 5\n', None),
        ("sglang:cached_tokens_total 5\n", None),
        # Nothing has been counted yet.
        ("# TYPE sglang:cached_tokens_total counter\n", 0),
        ("", None),
    ],
)
def test_a_zero_is_told_from_silence(text: str, hits: int | None) -> None:
    assert engine(text).get("server_host_hit_tokens") == hits


def test_a_tier_that_is_on_and_was_never_used_is_a_zero() -> None:
    on = "# TYPE sglang:hicache_host_total_tokens gauge\nsglang:hicache_host_total_tokens 1e6\n"
    assert engine(on)["server_load_back_tokens"] == 0
    assert "server_load_back_tokens" not in engine("sglang:num_queue_reqs 0\n")


@pytest.mark.parametrize("text", ["<html>not found</html>", '{"error": "no"}', "Metrics are disabled.", "\x00\x01"])
def test_what_is_no_page_of_metrics(text: str) -> None:
    assert neutral(text) is None
