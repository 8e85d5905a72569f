"""The checks of a night, one file an idea.

Owns: `REGISTRY`, to which a further check adds one line. Does not own: the checks. Floor 5.
"""

from harness.nightly.checks.contract import Check
from harness.nightly.checks.looking import (
    EXPECT_CLEAN,
    EXPECT_KILLED,
    EXPECT_RACES,
    EXPECT_ZOO,
    CommandCheck,
    mutant_words,
    prove_words,
    race_words,
    zoo_words,
)
from harness.nightly.checks.matrix import MatrixCheck
from harness.nightly.checks.speed import SpeedCheck

REGISTRY: tuple[Check, ...] = (
    MatrixCheck(),
    SpeedCheck(),
    CommandCheck("race", race_words, EXPECT_RACES),
    CommandCheck("prove", prove_words, EXPECT_CLEAN),
    CommandCheck("zoo", zoo_words, EXPECT_ZOO),
    CommandCheck("mutants", mutant_words, EXPECT_KILLED),
)
"""In the order in which they run, the one that matters most first: what comes last is skipped first."""
