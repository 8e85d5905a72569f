"""Which replies are damaged, and how: chance, from a seed and the request alone.

Owns: reading `NAME=RATE`, and the draw. A request meets the same fate however many others are in flight, since its own
bytes decide it; sent again, it is drawn again. Does not own: the faults (`faults.py`). Floor 5. Source: ours.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b

import numpy as np

from harness.planting.faults import FAULTS, Fault
from kernels.errors import ConfigError

_RATE = re.compile(r"(\d{1,3}(?:\.\d{1,6})?)\s*(%?)")


@dataclass(frozen=True, slots=True)
class Dose:
    """rate: the chance of each reply that can take the fault."""

    fault: Fault
    rate: float


@dataclass(frozen=True, slots=True)
class Fate:
    """What is to be planted in one reply, and the chance that is left for how."""

    fault: Fault
    rng: np.random.Generator


def doses_of(texts: Sequence[str]) -> tuple[Dose, ...]:
    """`NAME=RATE`, a rate as 1% or 0.01; `all=RATE` shares it among everything that is corruption.

    Raises: ConfigError.
    """
    doses: list[Dose] = []
    for text in texts:
        name, _, rate_text = text.partition("=")
        rate = _rate(rate_text, text)
        if name == "all":
            corruptions = [fault for fault in FAULTS.values() if fault.is_corruption]
            doses += [Dose(fault, rate / len(corruptions)) for fault in corruptions]
        elif name in FAULTS:
            doses.append(Dose(FAULTS[name], rate))
        else:
            raise ConfigError(f"there is no fault '{name}'", key="--fault", value=name, allowed=("all", *FAULTS))
    twice = [name for name, count in Counter(dose.fault.name for dose in doses).items() if count > 1]
    if twice:
        raise ConfigError(f"the fault '{twice[0]}' is given twice", key="--fault", value=twice[0])
    if sum(dose.rate for dose in doses) > 1 + 1e-9:
        raise ConfigError("the rates of all faults come to more than 100 %", key="--fault")
    return tuple(doses)


def _rate(text: str, whole: str) -> float:
    match = _RATE.fullmatch(text.strip())
    rate = -1.0 if match is None else float(match[1]) / (100 if match[2] else 1)
    if not 0 <= rate <= 1:
        what = f"--fault '{whole}' does not have the form NAME=RATE, with a rate of 0 to 100 % (1%, 0.01)"
        raise ConfigError(what, key="--fault", value=whole)
    return rate


class Dosing:
    """Draws a fate for each request of a run."""

    def __init__(self, doses: Sequence[Dose], seed: int) -> None:
        self.doses = tuple(doses)
        self.seed = seed
        self._seen: Counter[bytes] = Counter()

    def __repr__(self) -> str:
        shares = ", ".join(f"{dose.fault.name} {100 * dose.rate:g} %" for dose in self.doses)
        return f"Dosing(seed={self.seed}, {shares})"

    def fate(self, body: bytes) -> Fate | None:
        """None: the reply passes as it is."""
        digest = blake2b(body, digest_size=8).digest()
        rng = np.random.default_rng([self.seed, int.from_bytes(digest), self._seen[digest]])
        self._seen[digest] += 1
        left = rng.random()
        for dose in self.doses:
            if left < dose.rate:
                return Fate(dose.fault, rng)
            left -= dose.rate
        return None
