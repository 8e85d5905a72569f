"""The server's own counters, read beside a run under neutral names.

Owns: the map from SGLang's and vLLM's metric names, the differences over the run, and saying when there is nothing.
Does not own: what the figures prove (`results/vacuity`). Floor 5. Source: facts/formats.md section 4; the engines'
documented metric names.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import aiohttp
from prometheus_client.parser import text_string_to_metric_families

from harness.load.clock import WallClock

TOTALS: Final[Mapping[str, tuple[str, ...]]] = {
    "server_prompt_tokens": ("sglang:prompt_tokens_total", "vllm:prompt_tokens_total"),
    "server_generated_tokens": ("sglang:generation_tokens_total", "vllm:generation_tokens_total"),
    "server_cached_tokens": ("sglang:cached_tokens_total", "vllm:prefix_cache_hits_total"),
    "server_preemptions": ("sglang:num_retracted_requests_total", "vllm:num_preemptions_total"),
    "server_aborted_requests": ("sglang:num_aborted_requests_total",),
    "server_host_hit_tokens": ("sglang:load_back_tokens_total", "vllm:external_prefix_cache_hits_total"),
    "server_evicted_tokens": ("sglang:evicted_tokens_total",),
}
GAUGES: Final[Mapping[str, tuple[str, ...]]] = {
    "server_running_max": ("sglang:num_running_reqs", "vllm:num_requests_running"),
    "server_waiting_max": ("sglang:num_queue_reqs", "vllm:num_requests_waiting"),
}
_EVERY_NS: Final = 1_000_000_000
_PATIENCE_S: Final = 2.0


@dataclass(frozen=True, slots=True)
class ServerEvidence:
    """counters: neutral name -> change over the run, or the largest value of a gauge. note: in words."""

    counters: Mapping[str, int | float] = field(default_factory=dict)
    samples: int = 0
    note: str = "the server's metrics were not read"


class Scraper:
    """`async with Scraper(urls)`: reads the metrics now, every second, and once more when asked for evidence.

    Figures of several URLs (the workers behind a router) are added up.
    """

    def __init__(self, urls: Sequence[str]) -> None:
        self.urls = tuple(urls)
        self._first: Mapping[str, float] | None = None
        self._largest: dict[str, float] = {}
        self._samples = 0
        self._note = ""
        self._clock = WallClock()
        self._session: aiohttp.ClientSession | None = None
        self._task: asyncio.Task[None] | None = None

    def __repr__(self) -> str:
        return f"Scraper({self.urls}, {self._samples} samples)"

    async def __aenter__(self) -> Scraper:
        self._session = aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=_PATIENCE_S))
        self._first = await self._sample()
        if self._first is not None:
            self._task = asyncio.ensure_future(self._keep_reading())
        return self

    async def __aexit__(self, *failure: object) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])
        if self._session is not None:
            await self._session.close()

    async def evidence(self) -> ServerEvidence:
        last = await self._sample()
        if self._first is None or last is None:
            return ServerEvidence(samples=self._samples, note=self._note)
        counters: dict[str, int | float] = {
            name: round(last[name] - self._first[name])
            for name in TOTALS
            if name in last and name in self._first and last[name] >= self._first[name]
        }
        counters |= {name: round(value) for name, value in self._largest.items()}
        if counters.get("server_running_max", 0) > 1:
            # A gauge that is read once a second proves that requests met, never that they did not.
            counters["running_max"] = counters["server_running_max"]
        if not counters:
            return ServerEvidence(samples=self._samples, note=f"{self._shown} has no metric that is known here")
        return ServerEvidence(counters, self._samples, f"read {self._samples} times from {self._shown}")

    async def _keep_reading(self) -> None:
        while True:
            await self._clock.sleep_until(self._clock.now_ns + _EVERY_NS, (), awake="scrape")
            await self._sample()

    async def _sample(self) -> dict[str, float] | None:
        assert self._session is not None
        found, note = await read_metrics(self._session, self.urls)
        if found is None:
            self._note = note
            return None
        self._samples += 1
        for name in GAUGES:
            if name in found:
                self._largest[name] = max(self._largest.get(name, 0.0), found[name])
        return found

    @property
    def _shown(self) -> str:
        return ", ".join(self.urls)


def metrics_urls(base_url: str, given: Sequence[str] = ()) -> tuple[str, ...]:
    """Where a server's metrics are, unless it is said: beside its API."""
    return tuple(given) or (f"{base_url.removesuffix('/v1')}/metrics",)


async def read_metrics(session: aiohttp.ClientSession, urls: Sequence[str]) -> tuple[dict[str, float] | None, str]:
    """Known figures of all URLs added up, or None and why."""
    whole: dict[str, float] = {}
    for url in urls:
        try:
            async with session.get(url) as response:
                text = await response.text(errors="replace")
        except (aiohttp.ClientError, TimeoutError, ValueError) as problem:
            return None, f"{url} could not be read: {problem or type(problem).__name__}"
        if response.status != 200:
            return None, f"{url} answered {response.status}"
        found = neutral(text)
        if found is None:
            return None, f"{url} is not in Prometheus' text format"
        for name, value in found.items():
            whole[name] = whole.get(name, 0.0) + value
    return whole, ""


def neutral(text: str) -> dict[str, float] | None:
    """Known metrics under neutral names, added up over their labels; None where the text is no metrics at all."""
    names = {theirs: ours for known in (TOTALS, GAUGES) for ours, all_of in known.items() for theirs in all_of}
    found: dict[str, float] = {}
    count = 0
    try:
        for family in text_string_to_metric_families(text):
            for sample in family.samples:
                count += 1
                ours = names.get(sample.name)
                if ours is not None:
                    found[ours] = found.get(ours, 0.0) + sample.value
    except (ValueError, IndexError, KeyError):
        return None
    return found if count or not text.strip() else None
