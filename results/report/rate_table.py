"""The figures of a report as one table: a row for each rate, for pandas, DuckDB and friends.

Owns: the columns. Does not own: the turns (each run folder has `turns.parquet`). Floor 3. Source: ours.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from results.report.parts import Rate, Report

RATE_SCHEMA = pa.schema(
    [
        *((name, pa.string()) for name in ("arm", "verdict", "unit", "by", "value")),
        *((name, pa.int64()) for name in ("events", "units", "seeds")),
        *((name, pa.float64()) for name in ("rate", "low", "high", "open_bound", "p", "p_holm")),
        *((name, pa.string()) for name in ("control", "method")),
    ]
)
"""by, value: what the rate is of: `all`; `kind` and its name; or a quantity and the bin of it."""


def rate_table(report: Report) -> pa.Table:
    """Sessions and turns of each arm, by kind, and the bins of the arm that the report is about."""
    return pa.Table.from_pylist(list(_rows(report)), schema=RATE_SCHEMA)


def _rows(report: Report) -> Iterator[dict[str, Any]]:
    arms = {arm.name: arm for arm in report.arms}
    for arm in report.arms:
        about = {"arm": arm.name, "verdict": str(arm.verdict), "seeds": len(arm.seeds)}
        compared = {"control": arm.control, "p": arm.p, "p_holm": arm.p_holm}
        yield about | compared | _row("session", "all", "", arm.sessions)
        yield about | _row("turn", "all", "", arm.turns)
        for kind in arm.kinds:
            yield about | _row("turn", "kind", kind.kind, kind.turns)
            yield about | _row("session", "kind", kind.kind, kind.sessions)
    for bins in report.bins:
        arm = arms[bins.arm]
        about = {"arm": arm.name, "verdict": str(arm.verdict), "seeds": len(arm.seeds)}
        for one in bins.bins:
            yield about | _row("turn", bins.name, one.label, one.turns)


def _row(unit: str, by: str, value: str, rate: Rate) -> dict[str, Any]:
    return {
        "unit": unit,
        "by": by,
        "value": value,
        "events": rate.events,
        "units": rate.units,
        "rate": rate.rate,
        "low": rate.low,
        "high": rate.high,
        "open_bound": rate.open_bound,
        "method": rate.method,
    }
