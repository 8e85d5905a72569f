"""README shows what the program really prints: its commands are run, and their outputs compared."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]


def _build() -> ModuleType:
    """docs/build.py: docs is no package."""
    spec = importlib.util.spec_from_file_location("docs_build", ROOT / "docs" / "build.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["docs_build"] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.timeout(300)
def test_readme_shows_real_outputs() -> None:
    build = _build()
    shown = list(build.blocks((ROOT / "README.md").read_text(encoding="utf-8")))
    assert shown, "README has no output block"
    for block in shown:
        assert build.steady(block.output) == build.steady(build.run(block.command)), block.command


def test_outputs_differ_only_in_time_and_place() -> None:
    build = _build()
    first = "60 sessions, 426 turns, 12.3 s\nrun folder  results/runs/20261129T190153Z-a-s1  \n"
    second = "60 sessions, 426 turns, 9.0 s\nrun folder  results/runs/20261201T000000Z-a-s1\n"
    other = "60 sessions, 425 turns, 9.0 s\nrun folder  results/runs/20261201T000000Z-a-s1\n"
    assert build.steady(first) == build.steady(second)
    assert build.steady(first) != build.steady(other)


def test_documents_name_commands_that_exist() -> None:
    """Every `run.py COMMAND` of the documents is a command of the program."""
    import re

    from harness.cli.app import app

    known = set(app.commands)
    for page in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))):
        for name in re.findall(r"run\.py ([a-z][a-z-]*)", page.read_text(encoding="utf-8")):
            assert name in known, f"{page.name}: run.py {name}"
