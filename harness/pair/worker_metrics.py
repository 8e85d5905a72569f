"""Counters of one worker, under the names SGLang gives them, in a registry of their own.

Owns: what is counted. Does not own: the text format (prometheus_client), or where a prompt's pages were.
Floor 5. Source: SGLang's metric names (tokens, running requests, cached tokens by source, load-backs); `kvrace` names
are ours.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge

from harness.load.names import Role
from harness.pair.engines import HostHits
from harness.pair.token_queue import Finish

_RUNNING: Final = ("sglang:num_running_reqs", "vllm:num_requests_running")
_WAITING: Final = ("sglang:num_queue_reqs", "vllm:num_requests_waiting")


class WorkerMetrics:
    """running_now: requests that the engine computes together. host_hits: None where nobody can tell; then no figure of
    the host tier is served, not even a zero."""

    def __init__(
        self, model_name: str, role: Role, running_now: Callable[[], int], host_hits: HostHits | None = None
    ) -> None:
        self.registry = CollectorRegistry()
        self.in_flight = 0
        labels = {"model_name": model_name, "engine_type": role}

        def counter(name: str, text: str, **further: str) -> Counter:
            all_of = {**labels, **further}
            return Counter(name, text, all_of, registry=self.registry).labels(**all_of)

        def gauge(names: tuple[str, ...], text: str, value: Callable[[], int]) -> None:
            for name in names:
                Gauge(name, text, labels, registry=self.registry).labels(**labels).set_function(value)

        # Under both names: clients that look for a batch know one engine's name or the other's.
        gauge(_RUNNING, "Requests that are computed together.", running_now)
        gauge(_WAITING, "Requests that wait, or whose pages are on their way.", lambda: self.in_flight - running_now())
        self._requests = counter("sglang:num_requests", "Requests finished, however they ended.")
        self._aborted = counter("sglang:num_aborted_requests", "Requests aborted before their end.")
        self._failed = counter("kvrace:num_failed_requests", "Requests that the engine answered with an error.")
        self._refused = counter("kvrace:num_refused_requests", "Requests with a bad body or a room already taken.")
        self._prompt = counter("sglang:prompt_tokens", "Prompt tokens of finished requests.")
        self._generated = counter("sglang:generation_tokens", "Tokens produced by finished requests.")
        self._cached = Counter(
            "sglang:cached_tokens", "Prompt tokens of finished requests found in the cache, by where they were.",
            [*labels, "cache_source"], registry=self.registry,
        )  # fmt: skip
        self._labels = labels
        # The host tier is the prefill's; what decode has cached, it got from there.
        self._host_hits = host_hits if role == "prefill" else None
        self._sources = ("device", "host") if self._host_hits else ("device",) if role == "decode" else ("total",)
        if self._host_hits:
            self._loaded = counter("sglang:load_back_tokens", "Tokens loaded from host to device.", pool="kv")

    def started(self) -> None:
        self.in_flight += 1

    def refused(self) -> None:
        self._refused.inc()

    def finished(self, finish: Finish | None, request_id: str) -> None:
        """finish is None when the client hung up before the engine was done."""
        self.in_flight -= 1
        self._requests.inc()
        host_tokens = self._host_hits(request_id) if self._host_hits else 0
        if host_tokens:
            self._loaded.inc(host_tokens)
        if finish is None or finish.reason == "abort":
            self._aborted.inc()
            return
        if finish.reason == "error":
            self._failed.inc()
            return
        self._prompt.inc(finish.usage.prompt_tokens)
        self._generated.inc(finish.usage.completion_tokens)
        counts = (finish.usage.cached_tokens - host_tokens, host_tokens)
        for source, count in zip(self._sources, counts, strict=False):
            self._cached.labels(**self._labels, cache_source=source).inc(max(0, count))
