"""Each pattern finds its own lines, whatever stands around them, and no other one finds anything in a sound log."""

from __future__ import annotations

import pytest

from harness.live.server_logs.patterns import PATTERNS, pattern_of
from results.server_log import Weight
from tests.harness.live.server_logs.corpus import CLEAN, PLANTED


@pytest.mark.parametrize(("name", "line"), [(name, line) for name, lines in PLANTED.items() for line in lines])
def test_planted_line_is_found(name: str, line: str) -> None:
    found = pattern_of(line)
    assert found is not None
    assert found.name == name


@pytest.mark.parametrize("line", CLEAN)
def test_sound_line_is_left_alone(line: str) -> None:
    assert pattern_of(line) is None


def test_every_pattern_has_a_line_of_its_own() -> None:
    assert {pattern.name for pattern in PATTERNS} == set(PLANTED)
    assert len({pattern.name for pattern in PATTERNS}) == len(PATTERNS)


def test_only_integrity_decides() -> None:
    assert all(pattern.is_integrity is (pattern.group == "integrity") for pattern in PATTERNS)
    assert all(pattern.is_integrity for pattern in PATTERNS if pattern.weight is not Weight.NOTHING)
    # It is known to fire on sound servers.
    (canary,) = (pattern for pattern in PATTERNS if pattern.name == "kv-canary violation")
    assert canary.weight is Weight.UNKNOWN
