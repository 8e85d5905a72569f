"""A server's own figures: which field means what, what is missing, and what cannot be followed.

Owns: the fields of SGLang's `/server_info` as 0.5.16 and 0.5.23 give them. Floor: tests.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from harness.audit.errors import CannotJudgeError
from harness.audit.server_info import Given, ServerQuestion, read_server_info, server_question
from kernels.errors import ConfigError, EnvironmentProblem
from kernels.hicache.audit.judgement import audit

GB = 10**9
TOKENS = 1_689_600
"""13.02 GB by the fp8 formula of 0.5.16."""


def info(**changes: Any) -> dict[str, Any]:
    """What a 0.5.16 server of V4-Flash answers; None takes a field away."""
    fields = {
        "model_path": "deepseek-ai/DeepSeek-V4-Flash",
        "kv_cache_dtype": "fp8_e4m3",
        "page_size": 256,
        "swa_full_tokens_ratio": 0.1,
        "speculative_algorithm": None,
        "pp_size": 1,
        "enable_hisparse": False,
        "enable_deepseek_v4_fp4_indexer": False,
        "max_total_num_tokens": TOKENS,
        "internal_states": [{"memory_usage": {"weight": 70.1, "kvcache": 0.0, "token_capacity": TOKENS}}],
        "version": "0.5.16",
    } | changes
    return {name: value for name, value in fields.items() if value is not None}


def usage(**fields: Any) -> list[dict[str, Any]]:
    return [{"memory_usage": fields}]


def ask(given: Given = Given(memory_bytes=round(13.02 * GB)), **changes: Any) -> ServerQuestion:  # noqa: B008 - frozen
    return server_question(info(**changes), given, "here")


def test_a_bf16_build_with_the_fp8_count_is_over_committed() -> None:
    found = audit(ask(Given(index_k="bf16", memory_bytes=round(13.02 * GB))).question)
    assert (found.tokens, found.is_over_committed) == (TOKENS, True)
    assert found.over_commit_bytes == pytest.approx(1.1e9, rel=0.005)


def test_the_same_count_on_an_fp8_build_fits() -> None:
    server = ask()
    assert server.question.formats.index_k == "fp8"
    assert any("--index-k bf16" in note for note in server.notes)
    assert not audit(server.question).is_over_committed


def test_the_fp4_switch_is_heard() -> None:
    assert ask(enable_deepseek_v4_fp4_indexer=True).question.formats.index_k == "fp4"


def test_reported_memory_serves_where_none_is_given() -> None:
    server = ask(Given(index_k="bf16"), internal_states=usage(kvcache=13.02 * GB / 2**30))
    assert server.question.memory_bytes == pytest.approx(13.02 * GB, rel=0.001)
    assert audit(server.question).is_over_committed


def test_newer_servers_have_other_rules_and_tell_their_window_tokens() -> None:
    states = usage(kvcache=12.0, token_capacity=1_000_192, token_capacity_swa=51_200)
    server = ask(
        Given(),
        version="0.5.23.post1",
        max_total_num_tokens=1_000_192,
        internal_states=states,
        swa_full_tokens_ratio=0.8,
    )
    assert server.question.rules.name == "0.5.23"
    pools = {pool.kind: pool.page_count for pool in audit(server.question).pools}
    assert (pools["swa"], pools["c4_state"], pools["c4"]) == (200, 200, 3_907)


def test_the_rules_of_0_5_16_would_accuse_a_newer_server() -> None:
    """Why versions matter: its c4 states are half as large."""
    tokens = int(13.02 * GB / 7_086.75) // 256 * 256
    newer = ask(max_total_num_tokens=tokens, version="0.5.23")
    older = ask(Given(memory_bytes=round(13.02 * GB), rules="0.5.16"), max_total_num_tokens=tokens, version="0.5.23")
    assert not audit(newer.question).is_over_committed
    assert audit(older.question).is_over_committed


@pytest.mark.parametrize(
    ("changes", "requests"),
    [
        ({}, 0),
        ({"max_running_requests": 256}, 256),
        ({"max_running_requests": 256, "disaggregation_mode": "prefill", "disaggregation_decode_extra_slots": 16}, 256),
        ({"max_running_requests": 256, "disaggregation_mode": "decode", "disaggregation_decode_extra_slots": 16}, 272),
        ({"max_running_requests": 256, "internal_states": [{"effective_max_running_requests_per_dp": 64}]}, 64),
    ],
)
def test_states_of_requests_are_those_of_the_server(changes: dict[str, Any], requests: int) -> None:
    server = ask(**changes)
    assert server.question.requests == requests
    assert any("c128 states" in note for note in server.notes) == (requests == 0)
    # They are part of what must fit: a ring of 128 rows of 4,096 bytes for each, and three to spare, in 20 layers.
    states = audit(server.question).request_state_bytes
    assert states == (0 if requests == 0 else (requests + 3) * 128 * 4_096 * 20)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"max_total_num_tokens": None, "internal_states": None}, "max_total_num_tokens is missing"),
        ({"page_size": None}, "page_size is missing"),
        ({"swa_full_tokens_ratio": None}, "swa_full_tokens_ratio is missing"),
        ({"model_path": None}, r"model_path is missing, .*give --preset deepseek-v4-flash\|"),
        ({"model_path": "/models/mine"}, "model_path is '/models/mine', which names no known geometry"),
        ({"version": None}, r"version is missing: give --rules 0\.5\.16\|0\.5\.23"),
        ({"version": "0.5.20"}, r"version 0\.5\.20 lies between"),
        ({"version": "main"}, "version 'main' is none of SGLang's"),
        ({"speculative_algorithm": "EAGLE"}, "speculative_algorithm = EAGLE"),
        ({"pp_size": 2}, "pp_size = 2"),
        ({"enable_hisparse": True}, "enable_hisparse"),
        ({"kv_cache_dtype": "bfloat16"}, "kv_cache_dtype = bfloat16"),
    ],
)
def test_what_is_missing_or_not_modelled_is_named(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(CannotJudgeError, match=words) as told:
        ask(**changes)
    assert told.value.exit_code == 4


def test_everything_that_is_missing_is_named_at_once() -> None:
    with pytest.raises(CannotJudgeError) as told:
        server_question({}, Given(), "here")
    text = str(told.value)
    for name in ("max_total_num_tokens", "page_size", "model_path", "version", "kvcache", "--memory"):
        assert name in text


def test_the_token_count_of_the_internal_state_stands_in() -> None:
    assert ask(max_total_num_tokens=None).question.tokens == TOKENS


@pytest.mark.parametrize(
    ("body", "words"), [(b"{", "is not JSON"), (b"[]", "holds no JSON object"), (b"\xff\xfe", "is not JSON")]
)
def test_a_file_that_is_no_object_is_the_users_mistake(tmp_path: Path, body: bytes, words: str) -> None:
    file = tmp_path / "info.json"
    file.write_bytes(body)
    with pytest.raises(ConfigError, match=words):
        read_server_info(str(file))


def test_what_is_neither_a_url_nor_a_file_is_the_users_mistake(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"is no URL \(http://\.\.\.\), and no file either"):
        read_server_info(str(tmp_path / "nowhere.json"))


def test_a_port_that_nobody_listens_at_is_an_environment_problem() -> None:
    with pytest.raises(EnvironmentProblem, match=r"127\.0\.0\.1:9 cannot be reached: .*save its /server_info"):
        read_server_info("http://127.0.0.1:9")
