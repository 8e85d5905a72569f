"""The sockets of our servers: addresses that cannot be had, and an end that leaves no connection between two chairs."""

from __future__ import annotations

import asyncio
import gc
import socket
from contextlib import AsyncExitStack

import pytest
from aiohttp import web

from harness.pair.listening import listening_socket, serve
from kernels.errors import EnvironmentProblem

pytestmark = pytest.mark.asyncio


async def test_address_that_does_not_exist() -> None:
    with pytest.raises(EnvironmentProblem, match="'no such host' is no address that the router can listen on"):
        listening_socket("no such host", 0, what="router")
    with pytest.raises(EnvironmentProblem, match=r"port 0 on 192\.0\.2\.1.*cannot be had"):
        listening_socket("192.0.2.1", 0, what="router")


@pytest.mark.parametrize("passes", range(6))
async def test_connection_of_the_last_moment_is_the_servers_to_end(passes: int) -> None:
    """Whichever pass of the loop the end falls on. Python 3.11 warned of a transport that nobody had closed."""
    async with AsyncExitStack() as stack:
        bound = stack.enter_context(listening_socket("127.0.0.1", 0, what="test"))
        await serve(web.Application(), bound, until=stack)
        client = stack.enter_context(socket.create_connection(bound.getsockname()))
        client.setblocking(False)
        for _ in range(passes):
            await asyncio.sleep(0)
    # What was lost is found here, and pytest makes an error of the warning.
    gc.collect()
