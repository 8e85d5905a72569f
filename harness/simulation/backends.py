"""What a simulated machine runs on: virtual time, OS threads, or a CUDA device.

Owns: the names, and making the machine of each. Does not own: the machines (`kernels/substrate`). Floor 5.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from kernels.errors import ConfigError
from kernels.hicache.geometry import POOL_KINDS
from kernels.substrate.contract import Delay
from kernels.substrate.cost import CostModel
from kernels.substrate.cuda.backend import CudaBackend
from kernels.substrate.paged import PagedBuffer
from kernels.substrate.real.clock import Clock
from kernels.substrate.real.machine import RealMachine
from kernels.substrate.real.work import Backend
from kernels.substrate.threaded.backend import ThreadedBackend
from kernels.substrate.threaded.chaos import ChaosRules
from kernels.substrate.trace import TraceSink
from kernels.substrate.virtual.machine import VirtualMachine

_WINDOW_POOLS = {kind for kind in POOL_KINDS if kind == "swa" or kind.endswith("_state")}
_WINDOW_DIVISOR = 16

AnyMachine = VirtualMachine | RealMachine


@dataclass(frozen=True, slots=True)
class BackendChoice:
    """name: one of `BACKENDS`. has_chaos: streams pause now and then; threaded only."""

    name: str = "virtual"
    has_chaos: bool = False

    def __post_init__(self) -> None:
        if self.name not in BACKENDS:
            raise ConfigError(f"unknown backend '{self.name}'", key="--backend", value=self.name, allowed=BACKENDS)
        if self.has_chaos and self.name != "threaded":
            raise ConfigError(f"chaos pauses OS threads, and backend '{self.name}' has none: --backend threaded")

    @property
    def words(self) -> str:
        """What stands behind a command that repeats a run on this backend."""
        return "".join([f" --backend {self.name}" * (not self.is_virtual), " --chaos" * self.has_chaos])

    @property
    def is_virtual(self) -> bool:
        return self.name == "virtual"


def _threaded(clock: Clock, _cost: CostModel, chaos: ChaosRules | None) -> Backend:
    return ThreadedBackend(clock, chaos)


def _cuda(clock: Clock, cost: CostModel, _chaos: ChaosRules | None) -> Backend:
    return CudaBackend(clock, gather_blocks=round(cost.copy.gather_blocks.value), divisor=_divisor)


def _divisor(buffer: PagedBuffer) -> int:
    """Pools of a sliding window have a page for each page of tokens here, where the engine has a tenth of them.

    With all their bytes the incident's pools would need 610 GB. The copies of these pages keep their length.
    """
    return _WINDOW_DIVISOR if buffer.name.rpartition(".")[2] in _WINDOW_POOLS else 1


_REAL: Mapping[str, Callable[[Clock, CostModel, ChaosRules | None], Backend]] = MappingProxyType(
    {"threaded": _threaded, "cuda": _cuda}
)
BACKENDS = ("virtual", *_REAL)


def make_machine(
    choice: BackendChoice,
    cost: CostModel,
    *,
    seed: int,
    delays: Sequence[Delay],
    trace: TraceSink,
    has_call_sites: bool,
) -> AnyMachine:
    """Raises: EnvironmentProblem where this computer has not what the backend needs."""
    if choice.is_virtual:
        return VirtualMachine(cost, seed=seed, delays=delays, trace=trace, has_call_sites=has_call_sites)
    clock = Clock()
    backend = _REAL[choice.name](clock, cost, ChaosRules(seed) if choice.has_chaos else None)
    if isinstance(backend, CudaBackend):
        backend.devices.refuse_delays(delays)
    return RealMachine(backend, cost, seed=seed, delays=delays, trace=trace, clock=clock, has_call_sites=has_call_sites)
