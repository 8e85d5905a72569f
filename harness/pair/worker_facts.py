"""Every route of a worker that generates nothing: health, who it is, what it serves, its counters, and the cache flush.

Owns: the answers that routers and scrapers read. Does not own: generating (`worker.py`). There is no `/version`
on purpose: smg takes a worker that has it for vLLM, and then sends no room.
Floor 5. Source: facts/real-servers.md section 1 (what sglang-router and smg ask at start), facts/sglang.md section 4.
"""

from __future__ import annotations

from typing import Any, Final

from aiohttp import web
from prometheus_client import generate_latest

from harness.load.clock import WallClock
from harness.pair.answers import application, error_answer, json_answer, metrics_answer, model_list
from harness.pair.worker import Worker

SERVED_VERSION: Final = "0.5.16"
"""The SGLang release whose HTTP contract is spoken; routers look at it."""

BOOTSTRAP_PORT: Final = 8998
"""SGLang's default. Routers pass it on and never call it; the halves meet by room, so nothing listens there."""

FLUSH_PATIENCE_NS: Final = 2_000_000_000
_FLUSH_EVERY_NS: Final = 2_000_000


def worker_application(worker: Worker) -> web.Application:
    facts = _Facts(worker)
    return application(
        [
            web.post("/v1/chat/completions", worker.chat),
            web.post("/v1/completions", worker.complete),
            web.get("/health", facts.health),
            web.get("/health_generate", facts.health),
            web.get("/server_info", facts.server_info),
            web.get("/get_server_info", facts.server_info),
            web.get("/model_info", facts.model_info),
            web.get("/get_model_info", facts.model_info),
            web.get("/v1/models", facts.models),
            web.get("/v1/loads", facts.loads),
            web.get("/metrics", facts.metrics),
            web.post("/flush_cache", facts.flush_cache),
            web.post("/reset_prefix_cache", facts.flush_cache),
        ]
    )


class _Facts:
    def __init__(self, worker: Worker) -> None:
        self._worker = worker

    async def health(self, request: web.Request) -> web.Response:
        return web.Response(text="OK")

    async def server_info(self, request: web.Request) -> web.Response:
        model = self._worker.model
        fields: dict[str, Any] = {
            **self._model_fields(),
            "served_model_name": model.name,
            "tp_size": 1,
            "dp_size": 1,
            "disaggregation_mode": self._worker.role,
            "disaggregation_bootstrap_port": BOOTSTRAP_PORT,
            "version": SERVED_VERSION,
            **model.details,
        }
        return json_answer(fields)

    async def model_info(self, request: web.Request) -> web.Response:
        return json_answer({**self._model_fields(), "is_generation": True, "weight_version": "default"})

    async def models(self, request: web.Request) -> web.Response:
        return json_answer(model_list(self._worker.model))

    async def loads(self, request: web.Request) -> web.Response:
        return json_answer({"loads": [], "version": SERVED_VERSION})

    async def metrics(self, request: web.Request) -> web.Response:
        return metrics_answer(generate_latest(self._worker.metrics.registry))

    async def flush_cache(self, request: web.Request) -> web.Response:
        """A client that has its reply may ask while its pages are still being backed up: that is waited for."""
        clock = WallClock()
        while not self._worker.engine.flush_cache():
            if self._worker.metrics.in_flight or clock.now_ns >= FLUSH_PATIENCE_NS:
                return error_answer("the cache is in use: requests are running", status=400, kind="BadRequestError")
            await clock.sleep_until(clock.now_ns + _FLUSH_EVERY_NS, (), awake="flush")
        return web.Response(text="Cache flushed.\n")

    def _model_fields(self) -> dict[str, Any]:
        model = self._worker.model
        return {"model_path": model.name, "tokenizer_path": model.tokenizer_path}
