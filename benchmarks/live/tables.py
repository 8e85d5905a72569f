"""The tables of docs/live-servers.md, from the records under benchmarks/results and from what CI checks.

Owns: which figures stand in which table. Does not own: the page's words, the figures. Source: ours.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.live.balancers import BALANCERS
from benchmarks.live.outcomes import FAULTS, OUTCOMES
from benchmarks.live.record import RESULTS
from benchmarks.page import Figures, refill

PAGE = Path(__file__).resolve().parents[2] / "docs" / "live-servers.md"


def refill_page() -> None:
    """Write every table again whose record there is."""
    refill(PAGE, _all())


def _all() -> dict[str, Figures]:
    tables = {"faults": _faults()}
    for name in ("routers", "llamacpp", "vllm", "dynamo"):
        path = RESULTS / f"live_{name}.json"
        if path.exists():
            record = json.loads(path.read_text(encoding="utf-8"))
            tables[name] = _routers(record) if name == "routers" else _runs(record)
    return tables


def _faults() -> Figures:
    rows = tuple((f"{role}: {FAULTS[fault]}", *told) for (role, fault), told in OUTCOMES.items())
    return Figures(("fault", *BALANCERS), rows, "Checked in every CI run: tests/real_parts/test_faults.py.")


def _routers(record: Mapping[str, Any]) -> Figures:
    rows = tuple(
        (
            part["server"],
            f"`{run['what']}`",
            run["verdict"].upper(),
            f"{run['sessions_corrupted']} of {run['sessions']}",
            f"{run['turns_as_through_our_router']} of {run['turns']}",
        )
        for part in record["parts"]
        for run in part["runs"]
    )
    columns = ("router", "scenario", "verdict", "corrupted sessions", "turns as through our own router")
    return Figures(columns, rows, _measured(record))


def _runs(record: Mapping[str, Any]) -> Figures:
    rows = tuple(
        _run(part["server"], run) for part in record["parts"] for run in part["runs"] if "verdict" in run["shown"]
    )
    columns = ("server", "run", "verdict", "turns", "flagged", "not judged", "why not", "asked again",
               "differ alone", "between two loads", "between load and alone", "seconds")  # fmt: skip
    return Figures(columns, rows, _measured(record))


def _run(server: str, run: Mapping[str, Any]) -> tuple[str | int | float, ...]:
    shown = run["shown"]
    alone = shown.get("served_alone") or {}
    asked = ", ".join(f"{verdict.upper()} {count}" for verdict, count in alone.get("turns", {}).items())
    differs = [alone[name] if asked else "-" for name in ("serial_differs", "load_repeats_differ", "load_differs")]
    reasons = ", ".join(f"{kind.replace('_', ' ')} {count}" for kind, count in shown["unknown_kinds"].items())
    return (
        server, run["what"], shown["verdict"].upper(), shown["turns"], shown["turns_corrupted"], shown["turns_unknown"],
        reasons or "-", asked or "-", *differs, run["wall_s"],
    )  # fmt: skip


def _measured(record: Mapping[str, Any]) -> str:
    versions = ", ".join(f"{name} {version}" for name, version in record["versions"].items())
    host = record["host"]
    return f"{versions}; {host['cores']} cores, load average {host['load_average']} at the end."


if __name__ == "__main__":
    refill_page()
