"""`run.py plan`: how many sessions a claim needs, and what a number of sessions without an event rules out.

Owns: its options and what it prints. Does not own: the sizes (`results.stats.planner`, `zero`). Floor 5.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from math import ceil, isnan
from typing import TYPE_CHECKING, Any

import click

from kernels.errors import ConfigError
from results.report.words import plural

if TYPE_CHECKING:
    from results.stats.planner import Need, PlanRow, SamplePlan
    from results.stats.zero import ZeroBound


class _Number(click.FloatRange):
    """A range that NaN is not in: it compares with nothing, so no bound refuses it."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        number: float = super().convert(value, param, ctx)
        if isnan(number):
            self.fail(f"{value} is no number", param, ctx)
        return number


_SHARE = _Number(min=0, max=1, min_open=True, max_open=True)
_RATE = _Number(min=1e-6, max=1, max_open=True)
_WORST_CASE = "worst case: all sessions of a seed go the same way, so that only seeds count"
_HELP = """Say how many sessions a claim needs: to see a corruption of a given rate at least once, to claim that the
rate is lower when none is seen, and to tell an arm from its control. With --have, say what that many clean sessions
rule out.

Sessions of one seed share prefixes and loads, so three answers are given: as if sessions were independent, with the
design effect that you name (an arm with corruption shows its own), and for the worst case, that a seed's sessions all
go the same way."""


@click.command("plan", help=_HELP)
@click.option("--rate", type=_RATE, help="Session rate to see, rule out, or tell from the control's; 0.001 is 0.1 %.")
@click.option("--power", type=_SHARE, default=0.9, show_default=True, help="Chance to see it or to tell it apart.")
@click.option("--confidence", type=_SHARE, default=0.95, show_default=True, help="Of the claim.")
@click.option(
    "--control-rate",
    type=_Number(min=0, max=1, max_open=True),
    default=0.0,
    show_default=True,
    help="Session rate of the control arm.",
)
@click.option("--design-effect", type=_Number(min=1), help="Variance of rates over seeds, relative to independence.")
@click.option("--per-seed", type=click.IntRange(min=1), default=60, show_default=True, help="Sessions of one seed.")
@click.option("--have", type=click.IntRange(min=1), metavar="N", help="Sessions you have run, none of them corrupted.")
@click.option("--json", "is_json", is_flag=True, help="One JSON object on standard output.")
def plan_command(
    rate: float | None,
    power: float,
    confidence: float,
    control_rate: float,
    design_effect: float | None,
    per_seed: int,
    have: int | None,
    is_json: bool,
) -> int:
    from results.stats.planner import plan_sessions
    from results.stats.zero import zero_bound

    _refuse(rate, control_rate, design_effect, per_seed, have)
    plan = bound = None
    if rate is not None:
        plan = plan_sessions(
            rate,
            power=power,
            level=confidence,
            control_rate=control_rate,
            design_effect=design_effect,
            sessions_per_seed=per_seed,
        )
    if have is not None:
        bound = zero_bound(have, clusters=ceil(have / per_seed), design_effect=design_effect, level=confidence)
    if is_json:
        found = {"plan": asdict(plan) if plan else None, "have": asdict(bound) if bound else None}
        click.echo(json.dumps(found))
        return 0
    parts = [_plan_text(plan)] if plan else []
    click.echo("\n\n".join([*parts, *([_have_text(bound)] if bound else []), _WORST_CASE]))
    return 0


def _refuse(
    rate: float | None, control_rate: float, design_effect: float | None, per_seed: int, have: int | None
) -> None:
    """Raises: ConfigError for what the options cannot say one by one."""
    if rate is None and have is None:
        raise ConfigError("nothing to plan: give --rate R (0.001 is 0.1 %), --have N, or both", key="--rate")
    if rate is not None and rate == control_rate:
        raise ConfigError(f"--rate and --control-rate are both {rate:g}: no size can tell them apart", key="--rate")
    if design_effect is not None and design_effect > per_seed:
        raise ConfigError(
            f"--design-effect {design_effect:g} cannot be: seeds of {per_seed} sessions have at most {per_seed}",
            key="--design-effect",
            value=design_effect,
        )


def _plan_text(plan: SamplePlan) -> str:
    rate = f"{100 * plan.rate:g} %"
    lines = [
        ("sessions (seeds)", [_heading(row) for row in plan.rows]),
        (f"see {rate} at least once", [_need(row.see_one) for row in plan.rows]),
        (f"claim less than {rate} when none is seen", [_need(row.rule_out) for row in plan.rows]),
        (f"tell {rate} from {100 * plan.control_rate:g} %, each arm", [_need(row.tell_apart) for row in plan.rows]),
    ]
    label_width = max(len(label) for label, _ in lines)
    widths = [max(len(cells[at]) for _, cells in lines) for at in range(len(plan.rows))]
    table = "\n".join(
        f"{label:<{label_width}}  " + "  ".join(f"{cell:>{width}}" for cell, width in zip(cells, widths, strict=True))
        for label, cells in lines
    )
    asked = f"rate {rate}, power {plan.power:g}, confidence {plan.level:g}"
    return f"PLAN  {asked}, {plural(plan.sessions_per_seed, 'session')} a seed\n{table}"


def _heading(row: PlanRow) -> str:
    from results.stats.planner import Dependence

    if row.dependence is Dependence.DESIGN_EFFECT:
        return f"{row.dependence} {row.design_effect:g}"
    return {Dependence.INDEPENDENT: "independent", Dependence.WHOLE_SEED: "worst case"}[row.dependence]


def _need(need: Need) -> str:
    return f"{need.sessions:,} ({need.seeds:,})"


def _have_text(bound: ZeroBound) -> str:
    from results.stats.zero import bound_percent

    assert bound.by_cluster is not None, bound
    lines = [("independent", bound.independent), ("worst case", bound.by_cluster)]
    if bound.by_effect is not None:
        lines.insert(1, (f"design effect {bound.design_effect:g}", bound.by_effect))
    width = max(len(label) for label, _ in lines)
    sessions, seeds = plural(bound.unit_count, "session"), plural(bound.cluster_count or 0, "seed")
    head = f"HAVE  no corruption in {sessions} of {seeds}; with {100 * bound.level:g} % confidence the rate is below"
    return "\n".join([head, *(f"{label:<{width}}  {bound_percent(rate):>7}" for label, rate in lines)])
