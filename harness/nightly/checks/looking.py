"""Checks that are one command, judged by its exit code: race search, proof, mutants, zoo, and whatever comes to exist.

Owns: which command, and what its exit code means. Does not own: the commands. Floor 5.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from harness.nightly.checks.contract import NightContext
from harness.nightly.config import NightlyConfig
from harness.nightly.exit_codes import CLEAN, COULD_NOT_JUDGE, FOUND
from harness.nightly.record import CheckResult, Status

Words = Callable[[NightlyConfig], Sequence[str]]
"""The command, without `python run.py` and without `--json`."""


@dataclass(frozen=True, slots=True)
class Expectation:
    """What each exit code means, and in words; one that is not named could not judge."""

    statuses: Mapping[int, Status]
    sentences: Mapping[int, str]


EXPECT_RACES = Expectation(
    {FOUND: Status.PASSED, CLEAN: Status.REGRESSION},
    {FOUND: "the race is found, as expected", CLEAN: "no longer reproduces: no race is found"},
)
EXPECT_CLEAN = Expectation(
    {CLEAN: Status.PASSED, FOUND: Status.REGRESSION},
    {CLEAN: "clean, as expected", FOUND: "new finding where everything was clean"},
)
EXPECT_KILLED = Expectation(
    {CLEAN: Status.PASSED, COULD_NOT_JUDGE: Status.REGRESSION},
    {
        CLEAN: "every mutant is caught or equivalent, as expected",
        COULD_NOT_JUDGE: "a mutant survives: an order that the program relies on can go unseen",
    },
)
EXPECT_ZOO = Expectation(
    {CLEAN: Status.PASSED, FOUND: Status.REGRESSION},
    {
        CLEAN: "every public bug is found and named, and every fix is clean, as expected",
        FOUND: "a public bug is no longer found as expected, or its fix is no longer clean",
    },
)


@dataclass(frozen=True, slots=True)
class CommandCheck:
    """One command whose exit code says how it came out."""

    name: str
    words: Words
    expectation: Expectation

    def run(self, night: NightContext) -> CheckResult:
        words = list(self.words(night.config))
        ended = night.command(self.name, [*words, "--json"])
        status = self.expectation.statuses.get(ended.code, Status.UNKNOWN)
        if ended.is_late or ended.is_interrupted:
            status = Status.UNKNOWN
            sentence = "it was interrupted" if ended.is_interrupted else "the budget ended first"
        elif status is not Status.UNKNOWN:
            sentence = self.expectation.sentences[ended.code]
        elif ended.code == COULD_NOT_JUDGE:
            sentence = "it could not judge (exit code 4)"
        else:
            sentence = f"it ended with exit code {ended.code}: {ended.last_words or 'it said nothing'}"
        command = " ".join(["python run.py", *words])
        return CheckResult(self.name, status, sentence, ended.wall_s, command=command)


def race_words(config: NightlyConfig) -> list[str]:
    part = config.race
    return ["race", "--scenario", part.scenario, "--budget", str(part.budget)]


def prove_words(config: NightlyConfig) -> list[str]:
    part = config.prove
    return ["prove", "--scenario", part.scenario, "--budget", str(part.budget)]


def mutant_words(config: NightlyConfig) -> list[str]:
    part = config.mutants
    return ["prove", "--scenario", part.scenario, "--budget", str(part.budget), "--mutants"]


def zoo_words(_: NightlyConfig) -> list[str]:
    return ["zoo"]
