"""What the ablation varies, and over how many questions: one frozen record, checked before anything starts.

Owns: the axes, their defaults and bounds. Does not own: how a slip is made (`slips`, `early`). Floor 5.
"""

from __future__ import annotations

from dataclasses import dataclass

from kernels.errors import ConfigError
from kernels.hicache.geometry import PoolKind
from kernels.hicache.sizing import IndexFormat

POOLS: tuple[PoolKind, ...] = ("index_k", "c4", "c128", "swa")
"""The pools that slip in turn: one that selects, three that attention reads."""

SEED = 100
"""First of the seeds that are kept for calibration, so that reported seeds stay unseen."""

REDUNDANCY_MAX = 8
DELAY_US_MAX = 100_000.0
SESSIONS_MAX = 10_000
QUESTIONS_MAX = 12


@dataclass(frozen=True, slots=True)
class AblationSpec:
    """One ablation.

    sessions, questions: cases are sessions x questions, for each redundancy.
    redundancies: how often each fact that is asked for is written.
    page_shares: of the pages that come back from the host tier. layer_shares: of the layers that have the pool.
    delays_us: the pool is read so many microseconds before its own copy of each layer ends.
    index_k: number format of index-K: bytes of its copy, and the bytes that are read.
    """

    seed: int = SEED
    sessions: int = 30
    questions: int = 4
    redundancies: tuple[int, ...] = (1, 2, 4)
    page_shares: tuple[float, ...] = (0.1, 0.25, 0.5, 0.75, 0.9, 1.0)
    layer_shares: tuple[float, ...] = (0.25, 0.5, 0.75, 1.0)
    delays_us: tuple[float, ...] = (0.0, 10.0, 25.0, 50.0, 75.0, 100.0, 150.0, 200.0, 300.0, 450.0, 600.0)
    index_k: IndexFormat = "bf16"

    @property
    def delays_ns(self) -> tuple[int, ...]:
        return tuple(round(delay_us * 1_000) for delay_us in self.delays_us)


def check_spec(spec: AblationSpec) -> None:
    """Raises: ConfigError that names the first value that cannot be run, and what can."""
    _within("sessions", spec.sessions, 2, SESSIONS_MAX, "a stale page holds another session's bytes")
    _within("questions", spec.questions, 1, QUESTIONS_MAX)
    if spec.index_k not in ("bf16", "fp8"):
        what = f"--index-k '{spec.index_k}' is not a format that can be read"
        raise ConfigError(what, key="index-k", value=spec.index_k, allowed=("bf16", "fp8"))
    _within("seed", spec.seed, 0, 2**63 - 1)
    for name, values, high in (
        ("redundancy", spec.redundancies, REDUNDANCY_MAX),
        ("pages", spec.page_shares, 1.0),
        ("layers", spec.layer_shares, 1.0),
        ("delays-us", spec.delays_us, DELAY_US_MAX),
    ):
        if not values:
            raise ConfigError(f"--{name} needs one value at least", key=name)
        for value in values:
            _within(name, value, 1 if name == "redundancy" else 0, high)
        if len(set(values)) < len(values):
            raise ConfigError(f"--{name} names a value twice", key=name, value=values)


def _within(name: str, value: float, low: float, high: float, why: str = "") -> None:
    # Not `value < low`: no comparison is true of a NaN.
    if not low <= value <= high:
        reason = f", because {why}" if why else ""
        raise ConfigError(f"--{name} {value:g}: expected {low:g} to {high:g}{reason}", key=name, value=value)
