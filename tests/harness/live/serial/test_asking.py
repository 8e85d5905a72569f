"""A salt that the server refuses: the check knows that its requests had none, whoever found that out."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count

import pytest

from harness.live.credentials import Scrubber
from harness.live.observing import ObservedTransport
from harness.live.serial.asking import Asker
from harness.load.clock import WallClock
from harness.transport.accommodating import Accommodating
from harness.transport.contract import ChatRequest, Reply, Transport, TransportOptions
from harness.transport.reply import ReplyBuilder
from tests.harness.small_plans import session_plan
from tests.results.builders import turn

pytestmark = pytest.mark.asyncio

ANSWER = b'{"choices": [{"message": {"content": "x"}, "finish_reason": "stop"}]}'


class Strict:
    """A server that refuses certain fields, and quotes the first of them."""

    def __init__(self, refused: tuple[str, ...]) -> None:
        self.refused = refused
        self.asked: list[set[str]] = []

    def __call__(self, _: TransportOptions, /, *, now_ns: Callable[[], int]) -> Transport:
        return self

    async def close(self) -> None: ...

    async def chat(self, request: ChatRequest) -> Reply:
        fields = request.fields().keys()
        self.asked.append(set(fields))
        name = next((name for name in self.refused if name in fields), None)
        builder = ReplyBuilder(status=200 if name is None else 400)
        if name is None:
            builder.body(ANSWER, now_ns=1)
        else:
            builder.refused(f'{{"error": {{"message": "unknown field \'{name}\'"}}}}'.encode())
        return builder.reply(end_ns=1)


@pytest.mark.parametrize(
    ("refused", "has"),
    [
        ((), (True, True)),
        (("cache_salt",), (True, False)),
        (("logprobs",), (False, True)),
        (("cache_salt", "logprobs"), (False, False)),
        (("logprobs", "cache_salt"), (False, False)),
        (("safety_identifier",), (True, True)),
    ],
)
async def test_salt_that_is_left_out_is_known_to_be(refused: tuple[str, ...], has: tuple[bool, bool]) -> None:
    server, ticks = Strict(refused), count()
    client = Accommodating(server)(TransportOptions("http://x/v1"), now_ns=lambda: next(ticks))
    asker = Asker(
        ObservedTransport(client, Scrubber([])), lambda _: session_plan(0), WallClock(), model="m", max_tokens=8,
        salt="s",
    )  # fmt: skip
    asker.salts(is_wanted=True)
    for _ in range(2):
        assert (await asker.ask(turn(0, 0), salt="q")).error is None
    assert (asker.has_logprobs, asker.has_salt) == has
    assert ("logprobs" in server.asked[-1], "cache_salt" in server.asked[-1]) == has
