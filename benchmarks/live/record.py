"""What was found with one real server, as JSON under benchmarks/results, with all that is needed to ask again.

Owns: the fields of the record and of each server in it. Does not own: the figures. Source: ours.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).resolve().parents[1] / "results"


@dataclass(frozen=True, slots=True)
class Part:
    """One server that ran. settings: what it was started with. runs: `Ran.kept` of each command.

    start_s: until it was ready. memory_mb: resident, of its processes together, after the runs.
    """

    server: str
    settings: Mapping[str, Any]
    start_s: float
    memory_mb: float
    runs: Sequence[Mapping[str, Any]] = field(default_factory=tuple)


def versions_of(python: Path, packages: Sequence[str]) -> dict[str, str]:
    """As the environment of the server has them installed."""
    code = "import sys, importlib.metadata as m; print('\\n'.join(m.version(name) for name in sys.argv[1:]))"
    done = subprocess.run([str(python), "-c", code, *packages], capture_output=True, text=True, check=True)
    return dict(zip(packages, done.stdout.split(), strict=True))


def write(name: str, versions: Mapping[str, str], parts: Sequence[Part]) -> Path:
    report = {
        "stamp": datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ"),
        "host": {"machine": platform.machine(), "cores": os.cpu_count(), "load_average": round(os.getloadavg()[0], 1)},
        "versions": dict(versions),
        "parts": [asdict(part) for part in parts],
    }
    path = RESULTS / f"live_{name}.json"
    path.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    return path
