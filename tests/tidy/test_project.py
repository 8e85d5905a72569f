"""The tidy test proper: the project as it lies here breaks no rule.

Owns: which rule is applied to what. Does not show that a rule can fail: test_rules.py does. Floor: tests. Source: ours.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import PurePosixPath

import pytest

from tests.tidy import floors, rules, words
from tests.tidy.source import ROOT, Finding, Rule, Source, python_sources, text_paths

FILE_RULES: tuple[Rule, ...] = (
    rules.file_is_short,
    rules.functions_are_short,
    rules.module_has_docstring,
    rules.module_name_says_something,
    rules.time_comes_from_clock,
    rules.randomness_is_seeded,
    rules.output_goes_through_command_line,
    rules.errors_are_caught_by_name,
    floors.imports_stay_below,
    floors.heavy_libraries_load_late,
)
TEXT_RULES = (words.no_leftovers, words.glossary_words, words.no_machine_addresses)
CHANGELOG = PurePosixPath("CHANGELOG.md")


@pytest.fixture(scope="module")
def sources() -> list[Source]:
    return python_sources()


def _demand_none(findings: Iterable[Finding]) -> None:
    """Fail with all findings, one a line; pytest would shorten a comparison."""
    report = [str(finding) for finding in findings]
    assert not report, "\n" + "\n".join(report)


def test_walk_reaches_every_area(sources: list[Source]) -> None:
    """An empty walk would make every other test here pass."""
    seen = {str(source.path) for source in sources}
    assert {"kernels/errors.py", "kernels/__init__.py", "tests/tidy/test_project.py"} <= seen
    texts = {str(path) for path in text_paths()}
    assert {"pyproject.toml", "requirements.lock", "Makefile", ".ci/run", "CHANGELOG.md", "LICENSE"} <= texts
    assert not [path for path in texts if path.startswith((".venv/", ".git/", "results/runs/"))]


@pytest.mark.parametrize("rule", FILE_RULES, ids=lambda rule: rule.__name__)
def test_python_files(rule: Rule, sources: list[Source]) -> None:
    _demand_none(finding for source in sources for finding in rule(source))


def test_no_unused_module(sources: list[Source]) -> None:
    _demand_none(floors.unused_modules(sources))


@pytest.mark.parametrize("rule", TEXT_RULES, ids=lambda rule: rule.__name__)
def test_text_files(rule: words.TextRule) -> None:
    texts = ((path, (ROOT / path).read_text(encoding="utf-8")) for path in text_paths())
    _demand_none(finding for path, text in texts for finding in rule(path, text))


@pytest.mark.parametrize(
    "rule", [words.changelog_has_unreleased, words.no_template_text], ids=lambda rule: rule.__name__
)
def test_changelog(rule: words.TextRule) -> None:
    _demand_none(rule(CHANGELOG, (ROOT / CHANGELOG).read_text(encoding="utf-8")))
