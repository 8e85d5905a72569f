"""Every notebook runs from its first cell to its last on stored runs, shows figures, and holds no logic of its own.

Floor: tests.
"""

from __future__ import annotations

import ast
from base64 import b64decode
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from tests.report.stored import live, store, store_matrix, story

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"
NAMES = ("01_reproduce", "02_race_window", "03_compare_arms", "04_live_deployment")
FIGURES = {"01_reproduce": 4, "02_race_window": 3, "03_compare_arms": 3, "04_live_deployment": 4}
LOGIC = (ast.FunctionDef, ast.ClassDef, ast.For, ast.While, ast.If, ast.Lambda, ast.Try, ast.With)


def read(name: str) -> nbformat.NotebookNode:
    return nbformat.read(NOTEBOOKS / f"{name}.ipynb", as_version=4)  # type: ignore[no-untyped-call, no-any-return]


def pictures(notebook: nbformat.NotebookNode) -> list[bytes]:
    return [
        b64decode(output.data["image/png"])
        for cell in notebook.cells
        for output in cell.get("outputs", [])
        if "image/png" in output.get("data", {})
    ]


def test_there_are_four() -> None:
    assert sorted(path.stem for path in NOTEBOOKS.glob("*.ipynb")) == list(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_notebooks_are_stored_without_outputs_and_hold_no_logic(name: str) -> None:
    notebook = read(name)
    nbformat.validate(notebook)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert all(cell.outputs == [] and cell.execution_count is None for cell in code)
    for cell in code:
        found = [node for node in ast.walk(ast.parse(cell.source)) if isinstance(node, LOGIC)]
        assert not found, f"{name}: {ast.unparse(found[0])}"


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_notebooks_run(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if name == "03_compare_arms":
        path = store_matrix(tmp_path)
    elif name == "04_live_deployment":
        path = store(tmp_path, live(story()), counters={}, times_are_virtual=False, requires_host_tier=False)
    else:
        path = store(tmp_path, story())
    monkeypatch.setenv("KVRACE_RUN", str(path))
    notebook = read(name)
    client = NotebookClient(notebook, timeout=50, resources={"metadata": {"path": str(NOTEBOOKS)}})
    client.execute()
    shown = pictures(notebook)
    assert len(shown) == FIGURES[name]
    assert all(picture.startswith(b"\x89PNG") and len(picture) > 5_000 for picture in shown)
    noise = [
        output.text for cell in notebook.cells for output in cell.get("outputs", []) if output.get("name") == "stderr"
    ]
    assert noise == []
