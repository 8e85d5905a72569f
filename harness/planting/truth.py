"""What was planted where: a file with one line for each reply that was changed.

Owns: the record and its reading. Does not own: planting (`planter.py`), the comparison with judgements (`found.py`).
Floor 5. Source: ours.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from harness.planting.faults import FAULTS
from kernels.errors import ConfigError
from results.lines import read_lines


@dataclass(frozen=True, slots=True)
class Planted:
    """request_id: the request's `user` field, as `stress` sends it; empty where the client sends none. nth: which reply
    of this name it was: a serial check asks again, and only the first one is the load's.
    """

    request_id: str
    fault: str
    strength: str
    nth: int = 1


def read_truth(path: Path) -> list[Planted]:
    """Raises: ConfigError where there is no such file, or it holds something else. A torn last line is left out."""
    if not path.is_file():
        raise ConfigError(f"there is no file {path}", key="TRUTH", value=str(path))
    planted, faults = read_lines(path, Planted)
    damaged = [fault for fault in faults if not fault.reason.startswith("torn")]
    unknown = [one.fault for one in planted if one.fault not in FAULTS]
    if damaged or unknown:
        why = str(damaged[0]) if damaged else f"there is no fault '{unknown[0]}'"
        raise ConfigError(f"{path} is no file that `plant --truth` wrote: {why}", key="TRUTH", value=str(path))
    return planted
