"""A server that copies the call under the asked key, and copies it wrongly for each fault that its command line names.

Owns: a process to be started and stopped by commands. Does not own: any assertion. Floor: tests.

`python recall_server.py PORT [--fault NAME ...] [--dies]`: with a fault, every reply has a wrong word in its call; with
--dies it ends before it answers.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import sys
from typing import Any

from aiohttp import web

KEY = re.compile(r"\(\((\w+)\)\)")


def call_of(messages: list[dict[str, Any]]) -> tuple[str, dict[str, Any]]:
    """The call that stands under the key that was asked for last."""
    text = "\n".join(str(message["content"]) for message in messages if message["content"])
    key = KEY.findall(messages[-1]["content"])[-1]
    found = re.search(rf"\[\[{key}\]\] (\w+) (\{{.*)", text)
    assert found is not None, key
    return found[1], json.loads(found[2])


def chunks_of(name: str, arguments: str) -> list[bytes]:
    function = {"name": name, "arguments": arguments}
    call = {"index": 0, "id": "call_0", "type": "function", "function": function}
    chunks = [
        {"choices": [{"index": 0, "delta": {"role": "assistant", "tool_calls": [call]}, "finish_reason": None}]},
        {"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]},
    ]
    return [*(f"data: {json.dumps(chunk)}\n\n".encode() for chunk in chunks), b"data: [DONE]\n\n"]


def app_of(faults: list[str]) -> web.Application:
    async def models(_: web.Request) -> web.Response:
        return web.json_response({"data": [{"id": "copier"}]})

    async def chat(request: web.Request) -> web.StreamResponse:
        body = await request.json()
        name, arguments = call_of(body["messages"])
        # The first look at a server asks for a door; the fault is one of load.
        if faults and name != "open_door":
            arguments = {**arguments, next(iter(arguments)): "not what was asked for"}
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        for chunk in chunks_of(name, json.dumps(arguments)):
            await response.write(chunk)
            # Long enough for the other sessions' replies to be open as well.
            await asyncio.sleep(0.02)
        return response

    app = web.Application(client_max_size=2**24)
    app.router.add_get("/v1/models", models)
    app.router.add_post("/v1/chat/completions", chat)
    return app


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("port", type=int)
    parser.add_argument("--fault", nargs="*", default=[])
    parser.add_argument("--other", nargs="*", default=[])
    parser.add_argument("--dies", action="store_true")
    given = parser.parse_args()
    if given.dies:
        sys.exit("no memory left")
    web.run_app(app_of(given.fault + given.other), host="127.0.0.1", port=given.port, print=lambda _: None)
