"""Counters of one worker, under the names SGLang gives them, in a registry of their own.

Owns: what is counted. Does not own: the text format (prometheus_client).
Floor 5. Source: SGLang's metric names (tokens, running requests); `kvrace` names are ours.
"""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge

from harness.load.names import Role
from harness.pair.token_queue import Finish


class WorkerMetrics:
    def __init__(self, model_name: str, role: Role) -> None:
        self.registry = CollectorRegistry()
        labels = {"model_name": model_name, "engine_type": role}

        def counter(name: str, text: str) -> Counter:
            return Counter(name, text, labels, registry=self.registry).labels(**labels)

        self._running = Gauge(
            "sglang:num_running_reqs", "Requests in the engine or waiting for it.", labels, registry=self.registry
        ).labels(**labels)
        self._requests = counter("sglang:num_requests", "Requests finished, however they ended.")
        self._aborted = counter("sglang:num_aborted_requests", "Requests aborted before their end.")
        self._failed = counter("kvrace:num_failed_requests", "Requests that the engine answered with an error.")
        self._refused = counter("kvrace:num_refused_requests", "Requests with a bad body or a room already taken.")
        self._prompt = counter("sglang:prompt_tokens", "Prompt tokens of finished requests.")
        self._generated = counter("sglang:generation_tokens", "Tokens produced by finished requests.")
        self._cached = counter("sglang:cached_tokens", "Prompt tokens of finished requests found in the cache.")

    def started(self) -> None:
        self._running.inc()

    def refused(self) -> None:
        self._refused.inc()

    def finished(self, finish: Finish | None) -> None:
        """finish is None when the client hung up before the engine was done."""
        self._running.dec()
        self._requests.inc()
        if finish is None or finish.reason == "abort":
            self._aborted.inc()
            return
        if finish.reason == "error":
            self._failed.inc()
            return
        self._prompt.inc(finish.usage.prompt_tokens)
        self._generated.inc(finish.usage.completion_tokens)
        self._cached.inc(finish.usage.cached_tokens)
