"""Reading a server's metrics beside a run: differences, restarts, routers, and pages that are none."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

import aiohttp
import pytest
from aiohttp import web
from prometheus_client import generate_latest

from harness.live.host_tier import Exchanged, force_host_tier
from harness.live.scrape import Scraper, metrics_urls
from harness.load.names import Role
from harness.pair.engines import HostHits
from harness.pair.listening import listening_socket
from harness.pair.pair import PairOptions
from harness.pair.token_queue import Finish
from harness.pair.worker_metrics import WorkerMetrics
from harness.transport.contract import Reply, ReplyUsage, Stamps
from kernels.engine.request import Usage
from tests.harness.live.liveness.fake_time import FakeClock
from tests.harness.rig import get, post, served
from tests.harness.small_plans import TOOLS

pytestmark = pytest.mark.asyncio


@asynccontextmanager
async def pages(texts: Mapping[str, list[str]]) -> AsyncIterator[str]:
    """By path: one page after the other, the last one again and again."""

    async def page(request: web.Request) -> web.Response:
        left = texts.get(request.path)
        if left is None:
            raise web.HTTPNotFound
        return web.Response(text=left.pop(0) if len(left) > 1 else left[0])

    app = web.Application()
    app.router.add_route("*", "/{any:.*}", page)
    runner = web.AppRunner(app)
    await runner.setup()
    with listening_socket("127.0.0.1", 0, what="test") as bound:
        port = bound.getsockname()[1]
        await web.SockSite(runner, bound).start()
        try:
            yield f"http://127.0.0.1:{port}"
        finally:
            await runner.cleanup()


def page_of(prompt: int, running: int, host: int | None = None) -> str:
    text = f"sglang:prompt_tokens_total {prompt}\nsglang:num_running_reqs {running}\n"
    return text if host is None else f'{text}sglang:cached_tokens_total{{cache_source="host"}} {host}\n'


async def test_differences_and_largest_gauges() -> None:
    seen: list[float] = []
    texts = {"/metrics": [page_of(100, 1), page_of(150, 6, 8), page_of(180, 2, 24)]}
    async with pages(texts) as root:
        scraper = Scraper(
            metrics_urls(f"{root}/v1"),
            clock=FakeClock(),
            on_sample=lambda _, found: seen.append(found["server_running"]),
        )
        async with scraper:
            await scraper.sample()
            evidence = await scraper.evidence()
    # What was not there at first had counted nothing yet.
    assert evidence.counters == {
        "server_prompt_tokens": 80, "server_host_hit_tokens": 24, "server_cached_tokens": 24, "server_running_max": 6,
        "running_max": 6,
    }  # fmt: skip
    assert (seen, evidence.samples) == ([1, 6, 2], 3)


async def test_server_that_was_started_anew_is_told() -> None:
    texts = {"/metrics": [page_of(100, 1), page_of(7, 0)]}
    async with pages(texts) as root, Scraper(metrics_urls(f"{root}/v1"), clock=FakeClock()) as scraper:
        evidence = await scraper.evidence()
    assert evidence.counters["server_restarts_seen"] == 1
    assert "server_prompt_tokens went back, so the server was started anew" in evidence.note
    assert "server_prompt_tokens" not in evidence.counters


async def test_router_that_gathers_its_workers_metrics_is_asked_for_them() -> None:
    texts = {"/metrics": ["smg_requests_total 3\n"], "/engine_metrics": [page_of(1, 0), page_of(9, 3)]}
    async with pages(texts) as root, Scraper((f"{root}/metrics",), clock=FakeClock()) as scraper:
        evidence = await scraper.evidence()
    assert evidence.counters["server_prompt_tokens"] == 8


@pytest.mark.parametrize(
    ("texts", "words"),
    [
        (
            {"/metrics": ["<html>\n<body>hello</body>"]},
            "is not in Prometheus' text format: it begins with '<html> <body>",
        ),
        ({}, "answered 404"),
        ({"/metrics": ["something_else 3\n"]}, "has no metric that is known here"),
    ],
)
async def test_no_metrics_is_one_sentence(texts: dict[str, list[str]], words: str) -> None:
    async with pages(texts) as root, Scraper((f"{root}/metrics",), clock=FakeClock()) as scraper:
        evidence = await scraper.evidence()
    assert evidence.counters == {}
    assert words in evidence.note
    assert "\n" not in evidence.note


@pytest.mark.parametrize(
    ("after", "answer", "words"),
    [
        (page_of(0, 0, 64), "yes", "64 tokens came back from the host tier"),
        (page_of(0, 0, 0), "no", "did not move"),
        (page_of(0, 0), "unknown", "no counter tells"),
        ("kvbm_onboard_blocks_h2d 4\n", "yes", "4 blocks came back from the host tier"),
        ("lmcache:num_hit_tokens_total 9\n", "yes", "9 tokens came back from behind a KV connector"),
    ],
)
async def test_probe_of_the_host_tier(after: str, answer: str, words: str) -> None:
    nothing = Stamps(None, None)
    usage = ReplyUsage(100, 1, 64)

    async def ask(**_: object) -> Reply:
        return Reply(200, "", "", (), "stop", usage, None, nothing, nothing, None, (), None)

    first = after.replace("64", "0").replace(" 4\n", " 0\n").replace(" 9\n", " 0\n")
    async with pages({"/metrics": [first, after]}) as root, aiohttp.ClientSession() as session:
        found = await force_host_tier(Exchanged(session, root, (f"{root}/metrics",)), ask)
    assert (found.answer, words in found.detail) == (answer, True)


def metrics_text(host_hits: HostHits | None, role: Role) -> str:
    metrics = WorkerMetrics("m", role, lambda: 0, host_hits)
    metrics.started()
    metrics.finished(Finish("stop", Usage(100, 5, 60), 0, ""), "r1")
    return generate_latest(metrics.registry).decode()


async def test_workers_tell_host_from_device_only_where_somebody_knows() -> None:
    known = metrics_text(lambda name: {"r1": 48}[name], "prefill")
    assert 'cache_source="host",engine_type="prefill",model_name="m"} 48.0' in known
    assert 'cache_source="device",engine_type="prefill",model_name="m"} 12.0' in known
    assert 'sglang:load_back_tokens_total{engine_type="prefill",model_name="m",pool="kv"} 48.0' in known
    unknown = metrics_text(None, "prefill")
    assert 'cache_source="total",engine_type="prefill",model_name="m"} 60.0' in unknown
    assert "load_back" not in unknown
    decode = metrics_text(lambda _: 48, "decode")
    assert 'cache_source="device",engine_type="decode",model_name="m"} 60.0' in decode
    assert "load_back" not in decode


async def test_router_shows_its_workers_counters_once() -> None:
    options = PairOptions(host_hits=lambda _: 1)
    body = {"model": "m", "messages": [{"role": "user", "content": "[[k]] a b\n((k))"}], "tools": list(TOOLS)}
    async with served(options) as (pair, _):
        await post(f"{pair.router_url}/v1/chat/completions", body)
        _, raw = await get(f"{pair.router_url}/metrics")
    text = raw.decode()
    assert text.count("# TYPE sglang:prompt_tokens_total counter") == 1
    for role in ("prefill", "decode"):
        assert f'sglang:num_requests_total{{engine_type="{role}",model_name="kvrace-recall"}} 1.0' in text
    assert 'cache_source="host",engine_type="prefill",model_name="kvrace-recall"} 1.0' in text
    assert 'kvrace:router_answers_total{status="200"} 1.0' in text


async def test_a_server_that_falls_silent_keeps_what_it_said() -> None:
    texts = {"/metrics": [page_of(100, 1), page_of(150, 2, 8), "<html>gone</html>"]}
    async with pages(texts) as root, Scraper(metrics_urls(f"{root}/v1"), clock=FakeClock()) as scraper:
        await scraper.sample()
        evidence = await scraper.evidence()
    assert evidence.counters["server_prompt_tokens"] == 50
    assert "and not at the end" in evidence.note


@pytest.mark.parametrize("value", ["+Inf", "1e999"])
@pytest.mark.parametrize("is_odd", [(False, True), (True, False), (True, True)])
async def test_a_metric_that_is_no_number_is_left_out(value: str, is_odd: tuple[bool, bool]) -> None:
    """The load is over by then, and its verdict must not be lost to a metric."""
    odd = f"vllm:generation_tokens_total {value}\nsglang:num_queue_reqs {value}\n"
    sound = "vllm:generation_tokens_total 7\n"
    texts = {"/metrics": [page_of(100 + 50 * n, 1) + (odd if is_it else sound) for n, is_it in enumerate(is_odd)]}
    async with pages(texts) as root, Scraper(metrics_urls(f"{root}/v1"), clock=FakeClock()) as scraper:
        evidence = await scraper.evidence()
    assert evidence.counters == {"server_prompt_tokens": 50, "server_running_max": 1}
