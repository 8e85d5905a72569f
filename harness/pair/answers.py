"""Small HTTP answers that every server of the pair gives the same way: JSON, errors, metrics, model lists.

Owns: their shape, and that no error leaves a server as HTML or as a traceback. Does not own: any route.
Floor 5. Source: the OpenAI API's error object; facts/real-servers.md section 1 for the fields routers read.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from typing import Any, Final

import orjson
from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError

from harness.pair.engines import ModelFacts
from harness.pair.frames import CREATED_S, error_fields

BODY_BYTES_MAX: Final = 256 * 1024 * 1024

_Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


def json_answer(fields: object, *, status: int = 200) -> web.Response:
    return web.Response(body=orjson.dumps(fields), status=status, content_type="application/json")


def error_answer(sentence: str, *, status: int, kind: str, parameter: str | None = None) -> web.Response:
    return json_answer(error_fields(sentence, status=status, kind=kind, parameter=parameter), status=status)


def metrics_answer(page: bytes) -> web.Response:
    """page: as `prometheus_client.generate_latest` writes it."""
    return web.Response(body=page, headers={"Content-Type": "text/plain; version=0.0.4; charset=utf-8"})


def model_list(model: ModelFacts) -> dict[str, Any]:
    entry = {
        "id": model.name,
        "object": "model",
        "created": CREATED_S,
        "owned_by": "kvrace",
        "root": model.name,
        "max_model_len": model.context_tokens,
    }
    return {"object": "list", "data": [entry]}


@web.middleware
async def errors_as_json(request: web.Request, handler: _Handler) -> web.StreamResponse:
    """aiohttp's own refusals (404, 405, 413) in the shape that API clients expect."""
    try:
        return await handler(request)
    except web.HTTPException as refusal:
        if refusal.status < 400:
            raise
        sentence = f"{request.method} {request.path}: {refusal.reason.lower()}"
        if refusal.status == 413:
            sentence = f"the body is larger than {BODY_BYTES_MAX} bytes"
        return error_answer(sentence, status=refusal.status, kind="invalid_request_error")


def application(routes: list[web.RouteDef]) -> web.Application:
    app = web.Application(middlewares=[errors_as_json], client_max_size=BODY_BYTES_MAX)
    app.add_routes(routes)
    return app


def server_logger() -> logging.Logger:
    """Where aiohttp reports: our own bugs go on to the root logger, a client's bad bytes and hang-ups are dropped.

    A real router first tries HTTP/2 on every worker, and hangs up on one half where the other has failed; each time
    would be shown as an error with a traceback.
    """
    logger = logging.Logger("kvrace.http")
    logger.parent = logging.getLogger()
    logger.addFilter(_is_our_fault)
    return logger


def _is_our_fault(record: logging.LogRecord) -> bool:
    return record.exc_info is None or not isinstance(record.exc_info[1], HttpProcessingError | ConnectionError)
