"""A small part of the measured corpus: no false alarm, nothing planted is missed, and the corpus stands on its own.

Seeds are printed; docs/oracles.md has the whole measurement (`python -m benchmarks.oracles`). Floor: tests.
"""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import benchmarks.corpus as corpus
from benchmarks.corpus.clean import clean_batches
from benchmarks.corpus.planted import DAMAGES, planted_batches
from benchmarks.scoring import Counts, score
from results.findings import CORRUPTION_KINDS, Kind
from results.stats.intervals import clopper_pearson

SEED = 7
CLEAN = 1_000
PER_CLASS = 30


@pytest.fixture(scope="module")
def planted() -> Counts:
    return score(planted_batches(SEED, PER_CLASS))


def test_no_sound_reply_is_called_corrupted() -> None:
    counts = score(clean_batches(SEED, CLEAN))
    assert counts.sound == CLEAN
    assert counts.alarms == {}, f"clean_batches({SEED}, {CLEAN}): {counts.examples}"
    assert counts.sound_ok > 0.7 * CLEAN


@pytest.mark.parametrize("kind", DAMAGES)
def test_what_was_planted_is_found(kind: Kind, planted: Counts) -> None:
    found = planted.recall(kind)
    assert found.unit_count == PER_CLASS
    # Salad beside the right call is a matter of measure, and short salad may pass; the planted call decides the rest.
    least = 0.75 if kind is Kind.TOKEN_SALAD else 0.99
    assert found.high > least, (SEED, planted.examples)
    if kind is not Kind.TOKEN_SALAD:
        assert found.estimate == 1.0, (SEED, planted.examples)


def test_every_kind_of_corruption_has_a_damage() -> None:
    assert set(CORRUPTION_KINDS) <= set(DAMAGES)


def test_the_same_seed_gives_the_same_corpus() -> None:
    batch = next(clean_batches(SEED, 1))
    assert batch == next(clean_batches(SEED, 1))
    assert batch != next(clean_batches(SEED + 1, 1))
    assert list(planted_batches(SEED, 1)) == list(planted_batches(SEED, 1))


def test_the_corpus_shares_no_code_with_the_oracles() -> None:
    # One folder may be on the path twice.
    files = {path for folder in corpus.__path__ for path in Path(folder).resolve().glob("*.py")}
    assert len(files) >= 7
    for path in files:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            assert not [name for name in names if name.startswith("results.oracles")], path


def test_a_blind_judge_would_fail_here() -> None:
    """The interval of a recall of nothing lies far below what is demanded."""
    assert clopper_pearson(0, PER_CLASS).high < 0.2
