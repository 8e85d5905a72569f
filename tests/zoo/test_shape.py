"""An incomplete record is refused, with its name and what is missing; the template is one until it is filled in.

Owns: `scenarios/zoo/shape.py`, `harness/zoo/template.py`. Floor: tests. Source: issue "the zoo", bad input.
"""

from __future__ import annotations

import importlib.util
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness.zoo.judge import judge
from harness.zoo.table import reasons
from harness.zoo.template import write_template
from kernels.errors import ConfigError
from kernels.races.naming.codes import Code
from scenarios.zoo.registry import FOLDER, named
from scenarios.zoo.shape import PROGRAM_LINES_MAX, faults_of, program_lines
from scenarios.zoo.specimen import CLEAN, RaceClass, Specimen, WrongFix, expected

NAME = "pinned_page_table"
PATH = FOLDER / "staging_reuse" / f"{NAME}.py"


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"source": ""}, "source must name a project and a number"),
        ({"source": "somewhere"}, "source must name a project and a number"),
        ({"rows": ("B99",)}, "there is no row 'B99'"),
        ({"symptom": "S99"}, "symptom must be one of S1, S2"),
        ({"missing": ""}, "missing must be one line"),
        ({"trigger": "a\nb"}, "trigger must be one line"),
        ({"expected": CLEAN}, "expected must say what the defect shows"),
        ({"race_class": RaceClass.ALIAS}, "its class is ALIAS, so it belongs into alias"),
        ({"name": "other"}, "its file must be called other.py"),
        ({"wrong_fixes": (WrongFix("a b", "x", expected(stale=True)),)}, "must be an identifier"),
        ({"wrong_fixes": (WrongFix("tried", "", expected(stale=True)),)}, "why says what it misses"),
        ({"wrong_fixes": (WrongFix("tried", "x", CLEAN),)}, "what is clean is a fix"),
    ],
)
def test_what_is_missing_is_said_with_the_name(change: dict[str, Any], what: str) -> None:
    specimen = replace(named(NAME), **change)
    (fault,) = faults_of(specimen, PATH)
    assert fault.startswith(f"{specimen.name}: ")
    assert what in fault


def test_long_program_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "staging_reuse" / f"{NAME}.py"
    path.parent.mkdir()
    path.write_text("def build(machine, switch):\n" + "    x = 1\n" * PROGRAM_LINES_MAX, encoding="utf-8")
    assert program_lines(path.read_text()) == PROGRAM_LINES_MAX + 1
    (fault,) = faults_of(named(NAME), path)
    assert f"has {PROGRAM_LINES_MAX + 1} lines" in fault


def _loaded(path: Path) -> Specimen:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    specimen = module.SPECIMEN
    assert isinstance(specimen, Specimen)
    return specimen


def test_template_is_refused_until_it_is_filled_in(tmp_path: Path) -> None:
    path = write_template("my_bug", RaceClass.ARRIVAL_GATE, tmp_path)
    blank = _loaded(path)
    faults = "\n".join(faults_of(blank, path))
    for field in ("source", "symptom", "missing", "trigger", "expected"):
        assert f"my_bug: {field}" in faults
    text = path.read_text(encoding="utf-8")
    for blank_field, filled in (
        ('source=""', 'source="Engine PR 1"'),
        ('symptom=""', 'symptom="S1"'),
        ('missing=""', 'missing="copy @load -> read @forward"'),
        ('trigger=""', 'trigger="a hit"'),
        ("expected()", "expected(Code.MISSING_WAIT, stale=True, output=True)"),
        ("from kernels.substrate", "from kernels.races.naming.codes import Code\nfrom kernels.substrate"),
    ):
        assert blank_field in text
        text = text.replace(blank_field, filled)
    path.write_text(text, encoding="utf-8")
    specimen = _loaded(path)
    assert not faults_of(specimen, path)
    assert specimen.expected.codes == {Code.MISSING_WAIT}
    assert not reasons(judge(specimen, "auto", 10, 1))


@pytest.mark.parametrize("name", ["My_bug", "1st", "a-b", "class", "_hidden", ""])
def test_names_that_cannot_be_are_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be called"):
        write_template(name, RaceClass.ALIAS, tmp_path)


def test_a_name_that_is_there_is_refused() -> None:
    with pytest.raises(ConfigError, match=f"there is a specimen '{NAME}' already"):
        write_template(NAME, RaceClass.ALIAS, FOLDER)
