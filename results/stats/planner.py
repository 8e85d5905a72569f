"""How many sessions a claim needs, and what a given number can claim.

Owns: the three sizes (see one, rule out, tell apart) under three assumptions on dependence: none, a given design
effect, total within a seed. Does not own: running anything. Floor 3.
Source: independent units by the binomial; clusters by the bound of `zero`; two arms by the exact power of Fisher's
test, which Boschloo's never falls below, times the design effect.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from math import ceil, log

from results.stats.intervals import LEVEL, units_for_bound
from results.stats.power import units_to_tell_apart
from results.stats.zero import all_empty_chance

SESSIONS_PER_SEED = 60
POWER = 0.9


class Dependence(StrEnum):
    INDEPENDENT = "independent"
    DESIGN_EFFECT = "design effect"
    WHOLE_SEED = "whole seed"


@dataclass(frozen=True, slots=True)
class Need:
    """Sessions, and the seeds that hold them."""

    sessions: int
    seeds: int


@dataclass(frozen=True, slots=True)
class PlanRow:
    """One assumption. see_one: at least one event with the power asked for, if the rate is the one given.

    rule_out: no event in so many sessions claims that the rate is lower. tell_apart: for each of the two arms.
    """

    dependence: Dependence
    design_effect: float
    see_one: Need
    rule_out: Need
    tell_apart: Need


@dataclass(frozen=True, slots=True)
class SamplePlan:
    rate: float
    control_rate: float
    power: float
    level: float
    sessions_per_seed: int
    rows: tuple[PlanRow, ...]


def plan_sessions(
    rate: float,
    *,
    power: float = POWER,
    level: float = LEVEL,
    control_rate: float = 0.0,
    design_effect: float | None = None,
    sessions_per_seed: int = SESSIONS_PER_SEED,
) -> SamplePlan:
    """Sizes for a session rate. A whole seed that moves together has a design effect of its number of sessions."""
    assert 0 < rate < 1 and 0 <= control_rate < 1 and rate != control_rate, (rate, control_rate)
    assert 0 < power < 1 and 0 < level < 1 and sessions_per_seed >= 1, (power, level, sessions_per_seed)
    assert design_effect is None or 1 <= design_effect <= sessions_per_seed, (design_effect, sessions_per_seed)
    apart = units_to_tell_apart(control_rate, rate, power=power, alpha=1 - level)
    assumed = [(Dependence.INDEPENDENT, 1.0)]
    if design_effect is not None:
        assumed.append((Dependence.DESIGN_EFFECT, design_effect))
    assumed.append((Dependence.WHOLE_SEED, float(sessions_per_seed)))
    rows = tuple(
        PlanRow(
            dependence=dependence,
            design_effect=effect,
            see_one=_until_seen(rate, power, effect, sessions_per_seed, dependence),
            rule_out=_until_seen(rate, level, effect, sessions_per_seed, dependence),
            tell_apart=_need(ceil(apart * effect), sessions_per_seed, dependence),
        )
        for dependence, effect in assumed
    )
    return SamplePlan(rate, control_rate, power, level, sessions_per_seed, rows)


def _until_seen(rate: float, chance: float, effect: float, per_seed: int, dependence: Dependence) -> Need:
    """Sessions after which an event has been seen with this chance, if the rate is `rate`.

    "See one" and "rule out" are one question: none seen is then a surprise of 1 - chance.
    """
    if dependence is Dependence.INDEPENDENT:
        return _need(units_for_bound(rate, chance), per_seed, dependence)
    seeds = ceil(log(1 - chance) / log(all_empty_chance(rate, 1, per_seed, effect)))
    return Need(seeds * per_seed, seeds)


def _need(sessions: int, per_seed: int, dependence: Dependence) -> Need:
    """Independent sessions may end anywhere; where seeds are the clusters, only whole ones count."""
    seeds = ceil(sessions / per_seed)
    return Need(sessions if dependence is Dependence.INDEPENDENT else seeds * per_seed, seeds)
