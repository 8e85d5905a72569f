"""Where the figures of these benchmarks are kept, and the page that shows them.

Owns: the paths, the facts about the machine that go with every figure. Does not own: tables (`benchmarks.page`).
"""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import page
from benchmarks.page import Figures

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "benchmarks" / "results" / "races"
PAGE = ROOT / "docs" / "race-measurements.md"


def machine(command: str, load_before: float) -> dict[str, Any]:
    """What a figure cannot be read without. The load averages say whether the machine was busy."""
    return {
        "command": command,
        "stamp": datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ"),
        "host": {"system": platform.system(), "machine": platform.machine(), "cores": os.cpu_count()},
        "versions": {"python": platform.python_version(), "numpy": np.__version__},
        "load_before": round(load_before, 1),
        "load_after": round(os.getloadavg()[0], 1),
    }


def path_of(name: str) -> Path:
    return RESULTS / f"{name}.json"


def save(name: str, report: Mapping[str, Any]) -> None:
    RESULTS.mkdir(parents=True, exist_ok=True)
    path_of(name).write_text(json.dumps(report, indent=1) + "\n")
    print(path_of(name).relative_to(ROOT))


def table(tables: Mapping[str, Figures]) -> None:
    """Keep new tables, and write them into the page."""
    page.refill(PAGE, page.store(path_of("tables"), tables))
    print(PAGE.relative_to(ROOT))
