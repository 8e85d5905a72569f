"""Small live runs: eight sessions of short prompts that never pause.

Owns: the request's defaults. Does not own: any assertion. Floor: tests.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from harness.config.schema import WorkloadSpec
from harness.live.arrivals import load_shape
from harness.live.request import LiveRequest, Patience
from harness.live.stress_request import TRANSPORTS
from harness.live.target import Target
from harness.live.workload import live_workload
from harness.load.workload import Workload, build_workload
from kernels.engine.shared import SharedModel
from tests.harness.live.fault_server import MODEL

SEED = 5
SMALL = {
    "workload.turns_min": "3", "workload.turns_max": "3", "workload.think_s": "0", "workload.start_spread_s": "0",
    "workload.groups": "1",
}  # fmt: skip


def request(url: str, *, store: Path | None = None, transport: str = "raw", **changes: Any) -> LiveRequest:
    load = changes.pop("load", None) or load_shape("closed", 8, None, None)
    fields: dict[str, Any] = {
        "target": Target("live", url),
        "model": MODEL,
        "workload": live_workload(load, source="builtin", prompt_tokens=900, overrides=SMALL),
        "load": load,
        "seed": SEED,
        "max_tokens": 64,
        "transport_name": transport,
        "transport": TRANSPORTS[transport],
        "store": store,
        "repeat": "again",
        "patience": Patience(5.0, 5.0),
    }
    return LiveRequest(**(fields | changes))


def workload_of(asked: LiveRequest) -> Workload:
    return _workload(asked.workload, asked.seed)


@cache
def _workload(spec: WorkloadSpec, seed: int) -> Workload:
    return build_workload(spec, seed, SharedModel().reader.count_tokens)
