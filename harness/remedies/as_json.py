"""The report on a fix as plain values.

Owns: the fields of `verify-fix --json`. Does not own: wording. Floor 5.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from harness.remedies.figures import BEFORE, Figures
from harness.remedies.text import code_of, headline, is_expected
from harness.remedies.trial import Side, Trial
from scenarios.fixes.catalogue import FIXES, Fix


def trial_json(trial: Trial, figures: Mapping[str, Figures]) -> dict[str, Any]:
    """One fix, before and after."""
    fix = trial.fix
    shown = trial.after.open_groups[0].shown if trial.after.open_groups else None
    return {
        "fix": fix.name,
        "verdict": str(trial.verdict),
        "as_expected": is_expected(trial),
        "reason": headline(trial),
        "code": code_of(trial.after) or None,
        "because": shown.because if shown is not None else None,
        "does": fix.does,
        "why": fix.why,
        "cost": fix.cost,
        "changes": dict(fix.changes),
        "before": _side_json(trial.before, figures.get(BEFORE) if fix.programs is None else None),
        "after": _side_json(trial.after, figures.get(fix.name)),
        "wait_price_ns": trial.price_ns,
        "siblings": [{"pool": sibling.pool, "open": sibling.is_open} for sibling in trial.siblings],
        "masked": [str(masked) for masked in trial.after.result.masked],
    }


def fixes_json() -> list[dict[str, Any]]:
    """The catalogue."""
    return [_fix_json(fix) for fix in FIXES]


def _fix_json(fix: Fix) -> dict[str, Any]:
    fields = {"name": fix.name, "does": fix.does, "is_fix": fix.is_fix, "why": fix.why, "cost": fix.cost}
    return {**fields, "changes": dict(fix.changes), "programs": list(fix.programs or ()) or None}


def _side_json(side: Side, figures: Figures | None) -> dict[str, Any]:
    result, served = side.result, side.served
    token = next((str(report.token) for report in result.races if report.token is not None), None)
    return {
        "open": side.is_open,
        "orders": result.stats.orders,
        "schedules": result.stats.schedules,
        "exhausted": result.exhausted,
        "token": token,
        "served_unordered_pairs": sum(group.race_count for group in served.groups) if served is not None else None,
        "served_load_backs": served.loads if served is not None else None,
        "ends_ns": side.end_ns,
        "figures": asdict(figures) if figures is not None else None,
    }
