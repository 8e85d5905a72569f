"""The prefill/decode pair as three HTTP servers on this machine's loopback.

Owns: their sockets, their start and their stop. Does not own: engines, time, or what the servers say.
Floor 5. Source: ours.
"""

from __future__ import annotations

import errno
import socket
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import Final

from aiohttp import web

from harness.load.names import Role
from harness.pair.admission import Admission
from harness.pair.answers import server_logger
from harness.pair.engines import DecodeEngine, Engine, Gate, HostHits, ModelFacts, PrefillEngine
from harness.pair.router import Router
from harness.pair.worker import Worker
from harness.pair.worker_facts import worker_application
from harness.transport.bulk import READ_BUFFER_BYTES
from kernels.errors import EnvironmentProblem

_BACKLOG: Final = 1_024
_SHUTDOWN_S: Final = 0.5


@dataclass(frozen=True, slots=True)
class PairOptions:
    """host: who may connect. Ports: 0 means a free one. seed: for room numbers.

    host_hits: what the prefill's metrics say of the host tier; None: nothing.
    """

    host: str = "127.0.0.1"
    router_port: int = 0
    prefill_port: int = 0
    decode_port: int = 0
    seed: int = 0
    model: ModelFacts = field(default_factory=ModelFacts)
    host_hits: HostHits | None = None


@dataclass(frozen=True, slots=True)
class PairPorts:
    router: int
    prefill: int
    decode: int


class Pair:
    """`async with Pair(...) as pair`: the servers answer inside, and nothing of them is left afterwards."""

    def __init__(
        self, prefill: PrefillEngine, decode: DecodeEngine, *, gate: Gate, options: PairOptions | None = None
    ) -> None:
        self.options = options if options is not None else PairOptions()
        self._gate = gate
        self._admission = Admission(gate)
        self._engines: tuple[tuple[Role, Engine], ...] = (("prefill", prefill), ("decode", decode))
        self._stack = AsyncExitStack()
        self._ports: PairPorts | None = None
        self._router: Router | None = None

    def __repr__(self) -> str:
        return f"Pair({self._ports}, {self._admission})"

    @property
    def ports(self) -> PairPorts:
        assert self._ports is not None, "the pair has not been started"
        return self._ports

    @property
    def router_url(self) -> str:
        return _url(self.options.host, self.ports.router)

    @property
    def base_url(self) -> str:
        """What an OpenAI client takes as its base URL."""
        return f"{self.router_url}/v1"

    def worker_url(self, role: Role) -> str:
        return _url(self.options.host, self.ports.prefill if role == "prefill" else self.ports.decode)

    async def __aenter__(self) -> Pair:
        """Raises: EnvironmentProblem where an address cannot be had; nothing is left open then."""
        try:
            await self._start()
        except BaseException:
            await self._stack.aclose()
            raise
        return self

    async def __aexit__(self, *failure: object) -> None:
        await self._stack.aclose()

    async def _start(self) -> None:
        options = self.options
        sockets = [
            self._stack.enter_context(listening_socket(options.host, port, what=what))
            for what, port in (
                ("router", options.router_port),
                ("prefill", options.prefill_port),
                ("decode", options.decode_port),
            )
        ]
        self._ports = PairPorts(*(bound.getsockname()[1] for bound in sockets))
        workers = []
        for (role, engine), bound in zip(self._engines, sockets[1:], strict=True):
            worker = Worker(
                role, engine, gate=self._gate, admission=self._admission, model=options.model,
                host_hits=options.host_hits,
            )  # fmt: skip
            workers.append(worker.metrics.registry)
            self._stack.callback(worker.retire)
            await self._serve(worker_application(worker), bound)
        router = Router(
            prefill_url=self.worker_url("prefill"),
            decode_url=self.worker_url("decode"),
            seed=options.seed,
            model=options.model,
            workers=workers,
        )
        await self._stack.enter_async_context(router)
        await self._serve(router.application(), sockets[0])

    async def _serve(self, app: web.Application, bound: socket.socket) -> None:
        runner = web.AppRunner(
            app,
            # A client that hangs up must reach the engine as an abort.
            handler_cancellation=True,
            shutdown_timeout=_SHUTDOWN_S,
            access_log=None,
            logger=server_logger(),
            read_bufsize=READ_BUFFER_BYTES,
        )
        await runner.setup()
        self._stack.push_async_callback(runner.cleanup)
        await web.SockSite(runner, bound, backlog=_BACKLOG).start()


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


def _url(host: str, port: int) -> str:
    reachable = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
    return f"http://[{reachable}]:{port}" if ":" in reachable else f"http://{reachable}:{port}"
