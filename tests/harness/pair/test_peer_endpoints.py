"""What other people's testers need of the pair: completions, log-probabilities, token ids, gauges, a cache reset.

The official client reads the replies, so their shape is judged by somebody else's reader.
"""

from __future__ import annotations

import asyncio
import json
from math import exp
from typing import Any

import openai
import pytest
from openai.types.chat import ChatCompletionChunk, ChatCompletionTokenLogprob

from tests.harness.pair.real_pair import PAGE_TOKENS, SHARED, openai_client, real_pair
from tests.harness.rig import get, post, served
from tests.harness.small_plans import TOOLS

pytestmark = pytest.mark.asyncio

CALL = 'order_find {"id": 7, "note": "naïve 語"}'
PROMPT = f"[[k]] {CALL}\nplease ((k))"
MESSAGES: list[Any] = [{"role": "user", "content": PROMPT}]
CHAT: dict[str, Any] = {"model": "m", "messages": MESSAGES, "max_tokens": 40, "logprobs": True, "top_logprobs": 5}


def _told(entries: list[ChatCompletionTokenLogprob] | None) -> bytes:
    """The reply's bytes, by its log-probabilities alone."""
    return b"".join(bytes(entry.bytes or ()) for entry in entries or ())


def _check_places(entries: list[ChatCompletionTokenLogprob] | None, rivals: int) -> None:
    for entry in entries or ():
        assert entry.logprob <= 0.0
        best = [one.logprob for one in entry.top_logprobs]
        assert len(best) == rivals
        assert best == sorted(best, reverse=True)
        assert sum(map(exp, best)) <= 1 + 1e-9
        assert (entry.top_logprobs[0].token, best[0]) == (entry.token, entry.logprob), "the model is greedy"


async def test_whole_chat_has_the_log_probabilities_of_its_text() -> None:
    async with real_pair() as pair, openai_client(pair) as client:
        reply = await client.chat.completions.create(**CHAT)
        plain = await client.chat.completions.create(**{**CHAT, "logprobs": False, "top_logprobs": None})
    (choice,) = reply.choices
    assert choice.message.content == CALL == plain.choices[0].message.content
    assert plain.choices[0].logprobs is None
    assert choice.logprobs is not None
    assert _told(choice.logprobs.content) == CALL.encode()
    _check_places(choice.logprobs.content, 5)
    assert reply.usage is not None
    assert len(choice.logprobs.content or ()) == reply.usage.completion_tokens


@pytest.mark.parametrize("tools", [None, list(TOOLS)])
async def test_streamed_chat_tells_the_same_tokens_as_the_whole_one(tools: list[Any] | None) -> None:
    """Of a call as well, whose name the parser holds back until it is sure."""
    body = {**CHAT, **({"tools": tools} if tools else {})}
    async with real_pair() as pair, openai_client(pair) as client:
        whole = await client.chat.completions.create(**body)
        chunks: list[ChatCompletionChunk] = [
            one async for one in await client.chat.completions.create(**body, stream=True)
        ]
    assert bool(whole.choices[0].message.tool_calls) == bool(tools)
    streamed = [
        entry for one in chunks for choice in one.choices if choice.logprobs for entry in choice.logprobs.content or ()
    ]
    assert whole.choices[0].logprobs is not None
    assert [entry.model_dump() for entry in streamed] == [
        entry.model_dump() for entry in whole.choices[0].logprobs.content or ()
    ]
    assert _told(streamed) == CALL.encode()


async def test_completion_of_token_ids_is_the_chat_of_the_same_tokens() -> None:
    tokens = SHARED.reader.read(MESSAGES, ()).tokens.tolist()
    async with real_pair() as pair, openai_client(pair) as client:
        chat = await client.chat.completions.create(**CHAT)
        by_id = await client.completions.create(model="m", prompt=tokens, max_tokens=40, logprobs=5)
        nested = await client.completions.create(model="m", prompt=[tokens], max_tokens=40)
    (choice,) = by_id.choices
    assert choice.text == chat.choices[0].message.content == nested.choices[0].text
    assert (choice.finish_reason, nested.choices[0].logprobs) == ("stop", None)
    assert by_id.usage is not None
    assert by_id.usage.prompt_tokens == len(tokens)
    told = choice.logprobs
    assert told is not None
    assert chat.choices[0].logprobs is not None
    assert told.token_logprobs == [entry.logprob for entry in chat.choices[0].logprobs.content or ()]
    for token, logprob, best in zip(told.tokens or (), told.token_logprobs or (), told.top_logprobs or (), strict=True):
        assert best[token] == logprob == max(best.values())


async def test_completion_of_a_text_and_where_its_tokens_stand() -> None:
    ask: dict[str, Any] = {"model": "m", "prompt": PROMPT, "max_tokens": 40, "logprobs": 2}
    async with real_pair() as pair, openai_client(pair) as client:
        whole = (await client.completions.create(**ask)).choices[0]
        cut = (await client.completions.create(**{**ask, "max_tokens": 3})).choices[0]
        chunks = [one async for one in await client.completions.create(**ask, stream=True)]
        named = (await client.completions.create(**ask, extra_body={"return_tokens_as_token_ids": True})).choices[0]
    assert whole.text == CALL
    assert whole.logprobs is not None
    offsets = whole.logprobs.text_offset or []
    assert offsets == sorted(offsets)
    for token, offset in zip(whole.logprobs.tokens or (), offsets, strict=True):
        assert whole.text[offset:].startswith(token) or "\N{REPLACEMENT CHARACTER}" in token
    assert (cut.finish_reason, cut.logprobs and len(cut.logprobs.tokens or ())) == ("length", 3)
    assert "".join(one.choices[0].text for one in chunks) == CALL
    assert [token for one in chunks if one.choices[0].logprobs for token in one.choices[0].logprobs.tokens or ()] == (
        whole.logprobs.tokens
    )
    assert named.logprobs is not None
    ids = [int(token.removeprefix("token_id:")) for token in named.logprobs.tokens or ()]
    assert b"".join(map(SHARED.reader.text_of, ids)).decode() == CALL
    assert all(name.startswith("token_id:") for best in named.logprobs.top_logprobs or () for name in best)


async def test_facts_that_testers_ask_for_and_the_cache_reset() -> None:
    async with real_pair() as pair, openai_client(pair) as client:
        assert [model.id async for model in client.models.list()] == [pair.options.model.name]
        for url in (pair.router_url, pair.worker_url("prefill"), pair.worker_url("decode")):
            assert json.loads((await get(f"{url}/get_server_info"))[1])["page_size"] == PAGE_TOKENS
        long_one = [{"role": "user", "content": "filler " * 2_000 + PROMPT}]
        cached = []
        for reset in (False, False, True):
            if reset:
                assert (await post(f"{pair.router_url}/reset_prefix_cache", b""))[0] == 200
            reply = await client.chat.completions.create(**{**CHAT, "messages": long_one})
            assert reply.usage is not None
            assert reply.usage.prompt_tokens_details is not None
            cached.append(reply.usage.prompt_tokens_details.cached_tokens)
    assert cached[0] == cached[2] == 0
    assert (cached[1] or 0) > 1_000


async def test_reset_of_a_busy_cache_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("harness.pair.worker_facts.FLUSH_PATIENCE_NS", 0)
    async with served(is_busy=True) as (pair, _):
        assert (await post(f"{pair.router_url}/reset_prefix_cache", b""))[0] == 400


async def test_reset_waits_for_a_backup() -> None:
    """A reply is over before its pages are backed up, and who has it may ask for an empty cache at once."""
    async with real_pair(cost__d2h_gbps="0.2") as pair, openai_client(pair) as client:
        long_one = [{"role": "user", "content": "filler " * 4_000 + PROMPT}]
        for _ in range(3):
            reply = await client.chat.completions.create(**{**CHAT, "messages": long_one})
            assert reply.usage is not None
            assert reply.usage.prompt_tokens_details is not None
            assert reply.usage.prompt_tokens_details.cached_tokens == 0
            assert (await post(f"{pair.router_url}/reset_prefix_cache", b""))[0] == 200


async def test_reset_does_not_wait_for_a_request(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("harness.pair.worker_facts.FLUSH_PATIENCE_NS", 10**15)
    async with served(is_busy=True) as (pair, engines):
        # Stopped dead, so that the request stays.
        engines.is_computing = True
        body = {"messages": [{"role": "user", "content": "((none))"}], "stream": True}
        asked = asyncio.ensure_future(post(f"{pair.router_url}/v1/chat/completions", body))
        async with asyncio.timeout(10):
            while not engines.waiting:
                await asyncio.sleep(0)
            status, _ = await post(f"{pair.worker_url('prefill')}/reset_prefix_cache", b"")
        asked.cancel()
        await asyncio.wait([asked])
    assert status == 400


@pytest.mark.parametrize("role", ["router", "decode"])
async def test_gauge_tells_requests_that_run_together(role: str) -> None:
    """Three are in the batch for as long as none of them gets on; a fourth is still in the prefill."""
    async with served(stall_after=2, swallow={"room"}) as (pair, engines):
        url = pair.router_url if role == "router" else pair.worker_url("decode")
        body = {"messages": [{"role": "user", "content": "((none))"}], "stream": True}
        asked = [asyncio.ensure_future(post(pair.router_url + "/v1/chat/completions", body)) for _ in range(3)]
        seen = 0.0
        async with asyncio.timeout(10):
            while seen < 3:
                _, page = await get(f"{url}/metrics")
                seen = _gauge(page, "vllm:num_requests_running", "decode")
        assert _gauge(page, "sglang:num_running_reqs", "decode") == 3
        assert _gauge(page, "vllm:num_requests_waiting", "decode") == 0
        for one in asked:
            one.cancel()
        await asyncio.wait(asked)
        async with asyncio.timeout(10):
            while engines.decoding:
                await asyncio.sleep(0)
        assert _gauge((await get(f"{url}/metrics"))[1], "vllm:num_requests_running", "decode") == 0


def _gauge(page: bytes, name: str, role: str) -> float:
    lines = [line for line in page.decode().splitlines() if line.startswith(f"{name}{{") and f'"{role}"' in line]
    return float(lines[0].rpartition(" ")[2])


BAD_COMPLETIONS = [
    ({}, "'prompt' must be a text or a list of token ids, not null"),
    ({"prompt": ""}, "not an empty one"),
    ({"prompt": []}, "not an empty one"),
    ({"prompt": ["a", "b"]}, "one prompt a request is served, not 2"),
    ({"prompt": [1, 99_999]}, r"prompt[1] must be a token id from 0 to 16383, not 99999"),
    ({"prompt": [1, True]}, "prompt[1] must be a token id"),
    ({"prompt": "a", "logprobs": 21}, "'logprobs' must be from 0 to 20, not 21"),
    ({"prompt": "a", "logprobs": True}, "'logprobs' must be a whole number, not true or false"),
    ({"prompt": "a", "echo": True}, "'echo' is not served"),
    ({"prompt": "a", "n": 2}, "only n = 1 is served"),
    ({"prompt": "a", "best_of": 2}, "only best_of = 1 is served"),
    ({"prompt": "a", "max_tokens": 0}, "'max_tokens' must be at least 1, not 0"),
]


@pytest.mark.parametrize(("body", "sentence"), BAD_COMPLETIONS)
async def test_bad_completions_get_a_sentence(body: dict[str, Any], sentence: str) -> None:
    async with served() as (pair, _), openai_client(pair) as client:
        with pytest.raises(openai.BadRequestError) as caught:
            await client.post("/completions", body=body, cast_to=object)
    assert sentence in caught.value.message


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"logprobs": True, "top_logprobs": 21}, "'top_logprobs' must be from 0 to 20, not 21"),
        ({"top_logprobs": 3}, "'top_logprobs' is of use with 'logprobs': true only"),
        ({"logprobs": 3}, "'logprobs' must be true or false, not a whole number"),
    ],
)
async def test_bad_wishes_for_log_probabilities_get_a_sentence(fields: dict[str, Any], sentence: str) -> None:
    async with served() as (pair, _):
        status, raw = await post(f"{pair.router_url}/v1/chat/completions", {"messages": MESSAGES, **fields})
    assert status == 400
    assert sentence in json.loads(raw)["error"]["message"]
