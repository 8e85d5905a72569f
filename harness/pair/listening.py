"""A server of ours on an address of this machine: its socket, its start, and an end that leaves no connection behind.

Owns: binding with a sentence for what goes wrong, the options all of our servers share, and their shutdown. Does not
own: what a server answers. Floor 5. Source: ours.
"""

from __future__ import annotations

import asyncio
import errno
import socket
from contextlib import AsyncExitStack
from typing import Final

from aiohttp import web

from harness.load.clock import yield_to_others
from harness.pair.answers import server_logger
from harness.transport.bulk import READ_BUFFER_BYTES
from kernels.errors import EnvironmentProblem

_BACKLOG: Final = 1_024
_SHUTDOWN_S: Final = 0.5


def listening_socket(host: str, port: int, *, what: str) -> socket.socket:
    """A bound socket. Raises: EnvironmentProblem that names the address and what it was for."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        bound = socket.socket(family, kind, protocol)
    except OSError as problem:
        raise EnvironmentProblem(
            f"'{host}' is no address that the {what} can listen on ({problem.strerror})",
            remedy="try --host 127.0.0.1",
        ) from None
    try:
        # A port of a server that was stopped a moment ago must be usable again; a port in use still is refused.
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind(address)
        # At once: two sockets may be bound to one port as long as neither listens.
        bound.listen(_BACKLOG)
    except OSError as problem:
        bound.close()
        reason = "is in use already" if problem.errno == errno.EADDRINUSE else f"cannot be had ({problem.strerror})"
        raise EnvironmentProblem(
            f"port {port} on {host}, meant for the {what}, {reason}",
            remedy="choose another port, or leave the option away and a free one is taken",
        ) from None
    return bound


async def serve(
    app: web.Application, bound: socket.socket, *, until: AsyncExitStack, decompresses_bodies: bool = True
) -> web.AppRunner:
    """Answers on `bound` until the stack unwinds; the socket itself stays the caller's to close."""
    runner = web.AppRunner(
        app,
        # A client that hangs up must reach whoever works for it as an abort.
        handler_cancellation=True,
        shutdown_timeout=_SHUTDOWN_S,
        access_log=None,
        logger=server_logger(),
        read_bufsize=READ_BUFFER_BYTES,
        auto_decompress=decompresses_bodies,
    )
    await runner.setup()
    until.push_async_callback(runner.cleanup)
    await web.SockSite(runner, bound, backlog=_BACKLOG).start()
    until.push_async_callback(accept_no_more, bound)
    return runner


async def accept_no_more(bound: socket.socket) -> None:
    """Before a server is closed: connections that were accepted a moment ago become the server's first.

    Python 3.11 loses one that is between the two, and its client waits for an answer that never comes (gh-109564).
    """
    if bound.fileno() < 0:  # A server that has been closed before.
        return
    asyncio.get_running_loop().remove_reader(bound)
    await yield_to_others()
