"""What things cost on the virtual machine: numbers with their origin, and the arithmetic on them.

Owns: the records (`Quantity`, `Curve`, `CostModel`) and how long a copy, a call or a layer takes by them. Does not own:
the numbers (`data/*.toml`), reading and overriding them (`cost_file.py`), sharing a link (`virtual/link.py`). Floor 1.

Bandwidths are in GB/s, and 1 GB/s is 1 byte a nanosecond, so bytes divided by bandwidth are nanoseconds.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray

Status = Literal["measured", "fitted", "assumed", "override"]


@dataclass(frozen=True, slots=True)
class Quantity:
    """One number. `low` and `high` are the cited range of a fitted one."""

    value: float
    unit: str
    status: Status
    source: str
    low: float | None = None
    high: float | None = None

    @property
    def is_in_range(self) -> bool:
        return (self.low is None or self.value >= self.low) and (self.high is None or self.value <= self.high)


@dataclass(frozen=True, slots=True)
class Curve:
    """Measured points of y over x, both positive, x rising; straight lines between them on log-log paper."""

    points: tuple[tuple[float, float], ...]
    unit: str
    status: Status
    source: str

    def at(self, x: float) -> float:
        """y at x; flat outside the measured points."""
        return float(self.at_each(np.asarray([x], dtype=np.float64))[0])

    def at_each(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """y [n] at x [n]; flat outside the measured points."""
        known = np.log(np.asarray(self.points, dtype=np.float64))
        result: NDArray[np.float64] = np.exp(np.interp(np.log(x), known[:, 0], known[:, 1]))
        return result


# A field's annotation says in which unit a cost file must give it.
Micros = Annotated[Quantity, "us"]
MicrosPerToken = Annotated[Quantity, "us/token"]
Bandwidth = Annotated[Quantity, "GB/s"]
Ratio = Annotated[Quantity, "1"]
Blocks = Annotated[Quantity, "blocks"]


@dataclass(frozen=True, slots=True)
class HostCost:
    """Host time of the calls that only enqueue work."""

    enqueue: Micros
    event: Micros


@dataclass(frozen=True, slots=True)
class CopyCost:
    """One copy: what it costs before its bytes move, and how fast they can move at most."""

    launch: Micros
    page: Micros
    gather_blocks: Blocks
    gather: Annotated[Curve, "blocks -> GB/s"]
    run: Annotated[Curve, "bytes -> GB/s"]
    bandwidth_scale: Ratio


@dataclass(frozen=True, slots=True)
class LinkCost:
    """What a link carries in one direction, shared by all copies on it."""

    h2d: Bandwidth
    d2h: Bandwidth
    duplex: Ratio
    handoff: Bandwidth
    local: Bandwidth


@dataclass(frozen=True, slots=True)
class ComputeCost:
    """Compute time of one layer, as a function of new and cached tokens."""

    fixed: Micros
    new_token: MicrosPerToken
    cached_token: MicrosPerToken


@dataclass(frozen=True, slots=True)
class JitterCost:
    """Sigma of the lognormal factor (mean 1) on each operation's time."""

    copy: Ratio
    compute: Ratio


@dataclass(frozen=True, slots=True)
class CostModel:
    """All numbers of one machine. Immutable: an override gives a new model (`cost_file.with_override`)."""

    name: str
    host: HostCost
    copy: CopyCost
    link: LinkCost
    compute: ComputeCost
    jitter: JitterCost

    def leaves(self) -> Iterator[tuple[str, Quantity | Curve]]:
        """Every number under its dotted key: what documentation prints and an override may name."""
        for section in fields(self)[1:]:
            group = getattr(self, section.name)
            for entry in fields(group):
                yield f"{section.name}.{entry.name}", getattr(group, entry.name)

    @property
    def enqueue_ns(self) -> int:
        """Host time of one launch, or of one contiguous copy."""
        return _ns(self.host.enqueue)

    @property
    def event_ns(self) -> int:
        """Host time of one record or stream wait."""
        return _ns(self.host.event)

    @property
    def launch_ns(self) -> int:
        """Device time between the start of a copy and its first byte."""
        return _ns(self.copy.launch)

    @property
    def page_ns(self) -> int:
        """Extra time of every page of a copy that does not go run by run."""
        return _ns(self.copy.page)

    @property
    def gather_bandwidth(self) -> float:
        """Bytes a nanosecond that the gather kernel moves over a host link that it has to itself."""
        return self.copy.gather.at(self.copy.gather_blocks.value) * self.copy.bandwidth_scale.value

    def runs_ns(self, run_bytes: NDArray[np.float64]) -> float:
        """Time in which separate contiguous copies of these sizes move, back to back, over an idle host link.

        run_bytes: [n] float64. Under the smallest measured size a copy costs what that size costs: the time there is
        latency, not bandwidth.
        """
        floor_bytes = self.copy.run.points[0][0]
        paid = np.maximum(run_bytes, floor_bytes)
        times = paid / (self.copy.run.at_each(paid) * self.copy.bandwidth_scale.value)
        return float(times.sum())

    def layer_ns(self, new_tokens: int, cached_tokens: int) -> int:
        """Compute time of one layer of a batch, before jitter: fixed + slope * new + attention * cached."""
        cost = self.compute
        micros = cost.fixed.value + cost.new_token.value * new_tokens + cost.cached_token.value * cached_tokens
        return round(micros * 1_000.0)


def _ns(quantity: Quantity) -> int:
    assert quantity.unit == "us", f"a time in '{quantity.unit}' where us was declared"
    return round(quantity.value * 1_000.0)
