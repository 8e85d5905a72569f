"""A measured figure and the facts of the machine that it was measured on.

Owns: the records and their JSON. Does not own: measuring. Floor 6.
"""

from __future__ import annotations

import platform
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True, slots=True)
class Spread:
    """Of `count` repeats, in microseconds: median, and the two quartiles around it."""

    median_us: float
    low_us: float
    high_us: float
    count: int

    @classmethod
    def of(cls, times_us: Sequence[float]) -> Spread:
        low, middle, high = np.quantile(times_us, [0.25, 0.5, 0.75])
        return cls(median_us=float(middle), low_us=float(low), high_us=float(high), count=len(times_us))


@dataclass(frozen=True, slots=True)
class Figure:
    """One line of a table.

    floor_us: no version can be faster, by the ceilings measured in the same run; None where nothing was counted.
    rate: bytes or operations a second in `rate_unit`.
    """

    name: str
    who: str
    spread: Spread
    floor_us: float | None = None
    rate: float | None = None
    rate_unit: str = ""

    def as_json(self) -> dict[str, Any]:
        over = None if self.floor_us is None else self.spread.median_us / self.floor_us
        return asdict(self) | {"over_floor": over}


def host_facts() -> dict[str, Any]:
    """What a reader needs to judge a figure: processor, libraries, and the device where there is one."""
    facts: dict[str, Any] = {"machine": platform.machine(), "python": platform.python_version()}
    try:
        import cupy
    except ImportError:
        return facts | {"device": None}
    properties = cupy.cuda.runtime.getDeviceProperties(cupy.cuda.Device().id)
    return facts | {
        "device": properties["name"].decode(),
        "multiprocessors": properties["multiProcessorCount"],
        "capability": f"{properties['major']}.{properties['minor']}",
        "driver": cupy.cuda.runtime.driverGetVersion(),
        "runtime": cupy.cuda.runtime.runtimeGetVersion(),
        "cupy": cupy.__version__,
    }
