"""The prefill/decode pair as three HTTP servers on this machine's loopback.

Owns: their sockets, their start and their stop. Does not own: engines, time, or what the servers say.
Floor 5. Source: ours.
"""

from __future__ import annotations

from contextlib import AsyncExitStack
from dataclasses import dataclass, field

from harness.load.names import Role
from harness.pair.admission import Admission
from harness.pair.engines import DecodeEngine, Engine, Gate, HostHits, ModelFacts, PrefillEngine
from harness.pair.listening import listening_socket, serve
from harness.pair.router import Router
from harness.pair.worker import Worker
from harness.pair.worker_facts import worker_application


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
            await serve(worker_application(worker), bound, until=self._stack)
        router = Router(
            prefill_url=self.worker_url("prefill"),
            decode_url=self.worker_url("decode"),
            seed=options.seed,
            model=options.model,
            workers=workers,
        )
        await self._stack.enter_async_context(router)
        await serve(router.application(), sockets[0], until=self._stack)


def _url(host: str, port: int) -> str:
    reachable = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
    return f"http://[{reachable}]:{port}" if ":" in reachable else f"http://{reachable}:{port}"
