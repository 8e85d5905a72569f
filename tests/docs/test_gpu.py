"""docs/gpu.md shows what is stored under benchmarks/results/gpu, and nothing else.

Owns: the tables of that page. Floor: tests.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_the_tables_are_the_stored_figures() -> None:
    spec = importlib.util.spec_from_file_location("docs_gpu", ROOT / "docs" / "gpu.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    text = (ROOT / "docs" / "gpu.md").read_text(encoding="utf-8")
    assert text.count("<!-- table: ") == len(module.TABLES)
    assert module.rebuilt(text) == text
    assert "| hicache_bf16 | 5ms | 50 of 60 |" in text
