"""A client that hangs up on purpose: the server sees it go where it should, and the reply says what it was."""

from __future__ import annotations

import pytest

from harness.live.stress_request import TRANSPORTS
from harness.load.clock import WallClock
from harness.transport.contract import ChatRequest, Reply, Transport, TransportOptions
from harness.transport.hang_up import HangUp, HungUp
from tests.harness.transport.left_server import PIECES, LeftServer, Upto, left_server

pytestmark = pytest.mark.asyncio

SOON_S = 0.02


def client(name: str, server: LeftServer) -> Transport:
    clock = WallClock()
    return TRANSPORTS[name](TransportOptions(server.url, read_timeout_s=20.0), now_ns=lambda: clock.now_ns)


async def ask(transport: Transport, name: str, hang_up: HangUp | None) -> Reply:
    messages = [{"role": "user", "content": "hello"}]
    return await transport.chat(ChatRequest(name, "m", messages, hang_up=hang_up))


@pytest.mark.parametrize("transport", TRANSPORTS)
@pytest.mark.parametrize(
    ("policy", "upto", "pieces"),
    [
        (HangUp("queued", after_s=SOON_S), "nothing", 0),
        (HangUp("prefill", after_s=SOON_S), "head", 0),
        (HangUp("first-token", pieces=1), 1, 1),
        (HangUp("mid-answer", pieces=3), 3, 3),
    ],
    ids=lambda value: value.phase if isinstance(value, HangUp) else str(value),
)
async def test_server_sees_the_client_go_in_that_phase(transport: str, policy: HangUp, upto: Upto, pieces: int) -> None:
    async with left_server({"s0000-t00": upto}) as server:
        sender = client(transport, server)
        reply = await ask(sender, "s0000-t00", policy)
        assert await server.gone("s0000-t00") == upto
        # The client is of use all the same, and the request was not sent again.
        after = await ask(sender, "s0000-t01", None)
        await sender.close()
    assert isinstance(reply.error, HungUp)
    assert reply.error.phase == policy.phase
    assert reply.content == "".join(f"piece {number} " for number in range(pieces))
    assert (reply.arrived.first_token_ns is None) == (pieces == 0)
    assert reply.finish_reason is None
    assert (after.error, after.finish_reason) == (None, "stop")
    assert server.asked == {"s0000-t00": 1, "s0000-t01": 1}


@pytest.mark.parametrize("transport", TRANSPORTS)
@pytest.mark.parametrize(
    "policy",
    [HangUp("queued", after_s=60.0), HangUp("mid-answer", pieces=PIECES + 1)],
    ids=lambda policy: policy.phase,
)
async def test_reply_that_is_quicker_is_read_to_its_end(transport: str, policy: HangUp) -> None:
    async with left_server({}) as server:
        sender = client(transport, server)
        reply = await ask(sender, "s0000-t00", policy)
        await sender.close()
    assert (reply.error, reply.finish_reason, len(reply.text_ns)) == (None, "stop", PIECES)
    assert server.left == {}


@pytest.mark.parametrize("transport", TRANSPORTS)
async def test_text_ends_the_wait_for_none(transport: str) -> None:
    """The time for leaving a queue passes while text comes; that reply is past it, and is waited for."""
    async with left_server({"s0000-t00": 2}) as server:
        clock = WallClock()
        options = TransportOptions(server.url, read_timeout_s=0.3)
        sender = TRANSPORTS[transport](options, now_ns=lambda: clock.now_ns)
        reply = await ask(sender, "s0000-t00", HangUp("prefill", after_s=0.15))
        await sender.close()
    # What ends it is the silence after the second piece.
    assert reply.error is not None
    assert not isinstance(reply.error, HungUp)
    assert reply.content == "piece 0 piece 1 "
