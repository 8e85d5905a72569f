"""What the three servers answer over HTTP: the frames of a reply, the facts, the refusals."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from harness.pair.engines import ModelFacts
from harness.pair.pair import PairOptions
from tests.harness.rig import get, post, served
from tests.harness.small_plans import TOOLS

pytestmark = pytest.mark.asyncio

CHAT = "/v1/chat/completions"
CALL = 'order_find {"id": 7, "note": "naïve 語"}'


def _body(answer: str = CALL, **changes: Any) -> dict[str, Any]:
    message = {"role": "user", "content": f"[[k]] {answer}\n((k))"}
    return {"model": "m", "messages": [message], "tools": list(TOOLS), **changes}


def _events(raw: bytes) -> list[dict[str, Any]]:
    blocks = raw.decode().split("\n\n")
    assert blocks[-2:] == ["data: [DONE]", ""]
    return [json.loads(block.removeprefix("data: ")) for block in blocks[:-2]]


def _value(metrics: bytes, name: str) -> float:
    (line,) = (line for line in metrics.decode().splitlines() if line.startswith(f"{name}{{"))
    return float(line.rpartition(" ")[2])


async def test_streamed_call_has_sglangs_frames() -> None:
    async with served() as (pair, _):
        stream: dict[str, Any] = {"stream": True, "stream_options": {"include_usage": True}}
        status, raw = await post(pair.router_url + CHAT, _body(**stream))
    assert status == 200
    events = _events(raw)
    *chunks, finish, usage = events
    nulls = {"role": None, "content": None, "reasoning_content": None, "tool_calls": None}
    choice = {"index": 0, "logprobs": None, "finish_reason": None, "matched_stop": None}
    assert chunks[0]["choices"] == [{**choice, "delta": {**nulls, "role": "assistant", "content": ""}}]
    calls = [chunk["choices"][0]["delta"]["tool_calls"][0] for chunk in chunks[1:]]
    assert calls[0]["id"].startswith("call_")
    assert calls[0] | {"id": ""} == {
        "id": "",
        "index": 0,
        "type": "function",
        "function": {"name": "order_find", "arguments": ""},
    }
    assert all((call["id"], call["function"]["name"]) == (None, None) for call in calls[1:])
    assert "".join(call["function"]["arguments"] for call in calls) == CALL.removeprefix("order_find ")
    assert finish["choices"] == [{**choice, "delta": nulls, "finish_reason": "tool_calls"}]
    assert usage["choices"] == []
    assert usage["usage"]["prompt_tokens_details"] == {"cached_tokens": 1}
    assert usage["usage"]["total_tokens"] == usage["usage"]["prompt_tokens"] + usage["usage"]["completion_tokens"]
    stamps = [event["kvrace"]["t_ns"] for event in events]
    assert stamps == sorted(stamps)
    assert len(set(stamps)) > 3
    assert len({event["id"] for event in events}) == 1


async def test_streamed_content_without_usage() -> None:
    async with served() as (pair, _):
        _, raw = await post(pair.router_url + CHAT, _body("order_finder is no tool", stream=True))
    events = _events(raw)
    assert "".join(event["choices"][0]["delta"]["content"] or "" for event in events) == "order_finder is no tool"
    assert [event["choices"][0]["finish_reason"] for event in events[-2:]] == [None, "stop"]
    assert all(event["choices"] and event["usage"] is None for event in events)


async def test_whole_answers() -> None:
    async with served() as (pair, _):
        _, call = await post(pair.router_url + CHAT, _body())
        _, text = await post(pair.router_url + CHAT, _body("no call"))
        _, cut = await post(pair.router_url + CHAT, _body(max_tokens=3))
        _, no_tools = await post(pair.router_url + CHAT, _body(tools=None))
    message = json.loads(call)["choices"][0]["message"]
    assert (message["content"], message["tool_calls"][0]["function"]["name"]) == (None, "order_find")
    choice = json.loads(text)["choices"][0]
    assert (choice["message"]["content"], choice["message"]["tool_calls"]) == ("no call", None)
    assert choice["finish_reason"] == "stop"
    assert json.loads(cut)["choices"][0]["finish_reason"] == "length"
    assert json.loads(cut)["usage"]["completion_tokens"] == 3
    assert json.loads(no_tools)["choices"][0]["message"]["content"] == CALL


async def test_character_cut_by_the_end_is_shown_as_such() -> None:
    async with served() as (pair, _):
        # Tokens have five bytes: the third byte of the second character is in the second token.
        _, raw = await post(pair.router_url + CHAT, _body("語語語", max_tokens=1))
    assert json.loads(raw)["choices"][0]["message"]["content"] == "語\N{REPLACEMENT CHARACTER}"


@pytest.mark.parametrize("server", ["prefill", "decode", "router"])
async def test_facts_and_counters(server: str) -> None:
    model = ModelFacts(name="tiny", context_tokens=99, details={"page_size": 256})
    async with served(PairOptions(model=model)) as (pair, _):
        await post(pair.router_url + CHAT, _body())
        url = pair.router_url if server == "router" else pair.worker_url("prefill" if server == "prefill" else "decode")
        answers = {path: await get(url + path) for path in ("/health", "/server_info", "/model_info", "/v1/models")}
        _, metrics = await get(f"{url}/metrics")
        flushed, _ = await post(f"{url}/flush_cache", b"")
    assert {status for status, _ in answers.values()} == {200}
    info = json.loads(answers["/server_info"][1])
    assert (info["model_path"], info["page_size"]) == ("tiny", 256)
    assert json.loads(answers["/model_info"][1])["is_generation"] is True
    (entry,) = json.loads(answers["/v1/models"][1])["data"]
    assert (entry["id"], entry["max_model_len"]) == ("tiny", 99)
    if server == "router":
        assert b'kvrace:router_answers_total{status="200"} 1.0' in metrics
    else:
        assert info["disaggregation_mode"] == server
        assert _value(metrics, "sglang:num_requests_total") == 1.0
        assert _value(metrics, "sglang:generation_tokens_total") == {"prefill": 1.0, "decode": 9.0}[server]
        assert _value(metrics, "sglang:cached_tokens_total") == 1.0
    assert flushed == 200


async def test_flush_of_a_busy_engine_is_refused_with_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("harness.pair.worker_facts.FLUSH_PATIENCE_NS", 0)
    async with served(is_busy=True) as (pair, _):
        status, raw = await post(f"{pair.router_url}/flush_cache", b"")
    assert status == 400
    assert "the prefill worker did not flush" in json.loads(raw)["error"]["message"]


async def test_workers_have_no_version_route() -> None:
    """smg 1.13 takes a worker with one for vLLM, and sends no bootstrap room then (seen)."""
    async with served() as (pair, _):
        assert (await get(pair.worker_url("decode") + "/version"))[0] == 404


@pytest.mark.parametrize(
    ("body", "status", "sentence"),
    [
        (b"{", 400, "must be a JSON object"),
        (b"[1]", 400, "must be a JSON object"),
        (b'{"a": }', 400, "the prefill worker answered 400: the body is not JSON"),
        (b"{}", 400, "'messages' must be a list"),
        (json.dumps(_body(max_tokens=0)).encode(), 400, "'max_tokens' must be at least 1, not 0"),
    ],
)
async def test_bad_bodies_get_a_sentence(body: bytes, status: int, sentence: str) -> None:
    async with served() as (pair, _):
        got, raw = await post(pair.router_url + CHAT, body)
        _, metrics = await get(pair.worker_url("decode") + "/metrics")
    assert got == status
    error = json.loads(raw)["error"]
    assert sentence in error["message"]
    assert error["code"] == status
    assert _value(metrics, "sglang:num_running_reqs") == 0.0
    # The router looks at nothing but the braces, so all the other bodies have reached the workers.
    assert _value(metrics, "kvrace:num_refused_requests_total") == float(body.startswith(b"{") and body.endswith(b"}"))


async def test_half_without_a_room_is_sent_to_the_router() -> None:
    async with served() as (pair, _):
        status, raw = await post(pair.worker_url("decode") + CHAT, _body())
    assert status == 400
    assert json.loads(raw)["error"]["param"] == "bootstrap_room"


@pytest.mark.parametrize(("path", "status"), [("/v1/nothing", 404), (CHAT, 405)])
async def test_wrong_routes_get_json(path: str, status: int) -> None:
    async with served() as (pair, _):
        got, raw = await get(pair.router_url + path)
    assert got == status
    assert path in json.loads(raw)["error"]["message"]


async def test_http_2_tried_by_routers_is_not_reported_as_an_error(caplog: pytest.LogCaptureFixture) -> None:
    async with served() as (pair, _):
        reader, writer = await asyncio.open_connection("127.0.0.1", pair.ports.decode)
        writer.write(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes(9))
        assert b"400" in await reader.readline()
        writer.close()
        await writer.wait_closed()
    assert caplog.records == []


async def test_bug_of_ours_is_reported(caplog: pytest.LogCaptureFixture) -> None:
    async with served() as (pair, engines):
        engines.is_busy = _Explodes()  # type: ignore[assignment]
        status, _ = await post(f"{pair.worker_url('prefill')}/flush_cache", b"")
    assert status == 500
    assert "ZeroDivisionError" in caplog.text


class _Explodes:
    def __bool__(self) -> bool:
        return bool(1 // 0)
