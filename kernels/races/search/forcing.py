"""Forcing: every unordered pair of one passing run, each shown by a schedule of its own, in place of hoping for it.

Owns: turning each pair round, one at a time, and how many reads chance alone would have spoilt. Does not own: finding
the pairs (detector), exploring. Floor 2b. Source: RaceFuzzer (Sen, PLDI 2008); facts/peers.md item 6.
"""

from __future__ import annotations

from dataclasses import dataclass

from kernels.races.detector.race import Race
from kernels.races.scheduler.execution import Execution
from kernels.races.scheduler.plan import Plan
from kernels.races.scheduler.program import Program
from kernels.races.search.replay import run_token
from kernels.races.search.tokens import Token
from kernels.races.strategies.issue_order import Constraint, OpRef
from kernels.races.strategies.random_walk import RandomWalk


@dataclass(frozen=True, slots=True)
class Forced:
    """Victims are reads, by label, that the pairs say can be spoilt.

    unordered: all of them. shown: those that a forced schedule spoilt. by_chance: for each random schedule, those that
    it spoilt.
    """

    unordered: tuple[str, ...]
    shown: tuple[str, ...]
    by_chance: tuple[tuple[str, ...], ...]


def force_each(program: Program, *, random_schedules: int, seed: int) -> Forced:
    """Hold the first access of each unordered pair until the second has run; and, to compare, run random schedules."""
    plan = Plan(program)
    plain = run_token(plan, Token(plan.hash))
    pairs = [one for race in plain.detector.races for one in race.each()]
    victims = {race.first.operation.ordinal: race.first.operation.label for race in pairs}
    tokens = [Token(plan.hash, constraints=(_turned(plan, race),)) for race in pairs]
    shown = [
        race.first.operation.label
        for race, token in zip(pairs, tokens, strict=True)
        if race.first.operation.ordinal in run_token(plan, token).outcome.stale
    ]
    walk = RandomWalk(seed)
    chance = [Execution(plan).run(walk).stale for _ in range(random_schedules)]
    spoilt = [tuple(victims[ordinal] for ordinal in dict.fromkeys(stale) if ordinal in victims) for stale in chance]
    return Forced(tuple(victims.values()), tuple(dict.fromkeys(shown)), tuple(spoilt))


def _turned(plan: Plan, race: Race) -> Constraint:
    streams = {stream.name: stream.index for stream in plan.script.machine.streams}
    first, second = race.first, race.second
    return Constraint(
        before=OpRef(streams[second.operation.stream], second.place),
        behind=OpRef(streams[first.operation.stream], first.place),
    )
