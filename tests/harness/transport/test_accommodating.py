"""A server that refuses a field gets requests without it; one that refuses for another reason is told as before."""

from __future__ import annotations

import json
from itertools import count

import pytest
from aiohttp import web

from harness.live.stress_request import TRANSPORTS
from harness.pair.listening import listening_socket
from harness.transport.accommodating import Accommodating
from harness.transport.contract import ChatRequest, Reply, TransportOptions
from harness.transport.errors import EngineProtocolError

pytestmark = pytest.mark.asyncio

# As Dynamo 1.6.1's frontend words it, and as servers that validate with pydantic do.
DYNAMO = {"message": "Validation: Unsupported parameter(s): `{}`", "type": "Bad Request", "code": 400}
PYDANTIC = {"detail": [{"type": "extra_forbidden", "loc": ["body", "{}"], "msg": "Extra inputs are not permitted"}]}
ORDINARY = {"error": {"message": "messages must alternate between user and assistant", "code": 400}}
REPLY = {"choices": [{"index": 0, "message": {"content": "yes"}, "finish_reason": "stop"}]}

Asked = list[set[str]]


async def ask(
    transport: str, refused: list[str], body: object, status: int, times: int = 1, extra: dict[str, str] | None = None
) -> tuple[list[Reply], Asked]:
    """Replies, and the fields of each request that came."""
    asked: Asked = []

    async def answer(request: web.Request) -> web.Response:
        fields = json.loads(await request.read())
        asked.append(set(fields))
        name = next((name for name in refused if name in fields), None)
        if name is None:
            return web.json_response(REPLY)
        return web.Response(text=json.dumps(body).replace("{}", name), status=status, content_type="application/json")

    app = web.Application()
    app.router.add_post("/v1/chat/completions", answer)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    bound = listening_socket("127.0.0.1", 0, what="test")
    await web.SockSite(runner, bound).start()
    make, ticks = Accommodating(TRANSPORTS[transport]), count()
    replies = []
    try:
        for _ in range(times):
            # A client of its own each time, as the preflight and the run have.
            options = TransportOptions(f"http://127.0.0.1:{bound.getsockname()[1]}/v1")
            client = make(options, now_ns=lambda: next(ticks))
            messages = [{"role": "user", "content": "x"}]
            replies.append(await client.chat(ChatRequest("r", "m", messages, stream=False, extra=extra or {})))
            await client.close()
    finally:
        await runner.cleanup()
    return replies, asked


@pytest.mark.parametrize("transport", TRANSPORTS)
@pytest.mark.parametrize(("body", "status"), [(DYNAMO, 400), (PYDANTIC, 422)], ids=["dynamo", "pydantic"])
async def test_refused_fields_are_left_out_from_then_on(transport: str, body: object, status: int) -> None:
    replies, asked = await ask(transport, ["safety_identifier", "user"], body, status, times=3)
    assert [(reply.error, reply.content) for reply in replies] == [(None, "yes")] * 3
    assert {"safety_identifier", "user"} <= asked[0]
    assert [fields & {"safety_identifier", "user"} for fields in asked] == [
        {"safety_identifier", "user"}, {"user"}, set(), set(), set()
    ]  # fmt: skip
    assert all({"model", "messages", "temperature"} <= fields for fields in asked)


@pytest.mark.parametrize("transport", TRANSPORTS)
async def test_refused_salt_is_left_out_and_the_reply_says_so(transport: str) -> None:
    replies, asked = await ask(transport, ["cache_salt"], DYNAMO, 400, times=2, extra={"cache_salt": "s", "top_k": "1"})
    assert [(reply.error, reply.omitted) for reply in replies] == [(None, frozenset({"cache_salt"}))] * 2
    assert [("cache_salt" in fields, "top_k" in fields) for fields in asked] == [
        (True, True), (False, True), (False, True)
    ]  # fmt: skip
    plain, _ = await ask(transport, [], DYNAMO, 400, extra={"cache_salt": "s"})
    assert plain[0].omitted == frozenset()


async def test_other_refusals_are_told_and_not_tried_again() -> None:
    for refused, body in ((["temperature"], DYNAMO), (["user"], ORDINARY)):
        replies, asked = await ask("raw", refused, body, 400)
        assert len(asked) == 1
        error = replies[0].error
        assert isinstance(error, EngineProtocolError)
        assert error.status == 400


async def test_what_was_found_out_is_said() -> None:
    make = Accommodating(TRANSPORTS["raw"])
    assert list(make.notes()) == []
    make.omitted.add("user")
    assert list(make.notes()) == ["the server refuses the field 'user', so no request has it"]
