"""What the tidy rules look at: the project's Python sources and text files, and the finding a rule makes.

Owns: walking the tree and reading it once. Does not judge anything. Floor: tests. Source: the idea of a tested house
style is TigerBeetle's `tidy.zig`; the code is ours.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).resolve().parents[2]

SHIPPED_AREAS = frozenset({"kernels", "harness", "results", "scenarios", "run"})
PROJECT_AREAS = SHIPPED_AREAS | {"tests", "benchmarks", "docs"}

_SKIPPED_FOLDERS = frozenset({".git", "__pycache__", "node_modules", "build"})
_KEPT_DOT_FOLDERS = frozenset({".ci", ".github"})
_TEXT_SUFFIXES = frozenset(
    {".csv", ".cu", ".html", ".ipynb", ".json", ".lock", ".md", ".py", ".sh", ".svg", ".toml", ".txt", ".yaml", ".yml"}
)
_TEXT_NAMES = frozenset({"Makefile", "LICENSE", "run", ".gitignore"})


@dataclass(frozen=True, slots=True)
class Finding:
    """One broken rule: where, and what to do instead."""

    path: PurePosixPath
    line: int
    what: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.what}"


@dataclass(frozen=True)
class Source:
    """One Python file; `path` is relative to the repository's root."""

    path: PurePosixPath
    text: str

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.text, filename=str(self.path))

    @property
    def is_package(self) -> bool:
        return self.path.name == "__init__.py"

    @property
    def module(self) -> str:
        parts = self.path.with_suffix("").parts
        return ".".join(parts[:-1] if self.is_package else parts)

    @property
    def area(self) -> str:
        """The top-level folder, or the module's name for a file that lies in the root."""
        return self.path.with_suffix("").parts[0]

    @property
    def is_shipped(self) -> bool:
        return self.area in SHIPPED_AREAS

    @property
    def is_command_line(self) -> bool:
        return self.path.parts[:2] == ("harness", "cli") or str(self.path) in {"harness/cli.py", "run.py"}

    def finding(self, line: int, what: str) -> Finding:
        return Finding(self.path, line, what)


Rule = Callable[[Source], Iterator[Finding]]


def python_sources(root: Path = ROOT) -> list[Source]:
    """All Python files of the project, in path order."""
    return [
        Source(path, (root / path).read_text(encoding="utf-8"))
        for path in text_paths(root)
        if path.suffix == ".py" and path.with_suffix("").parts[0] in PROJECT_AREAS
    ]


def text_paths(root: Path = ROOT) -> list[PurePosixPath]:
    """All text files that belong to the project: no environments, caches or results of runs."""
    return sorted(PurePosixPath(path.relative_to(root)) for path in _files(root, root) if _is_text(path))


def _files(folder: Path, root: Path) -> Iterator[Path]:
    for path in folder.iterdir():
        if path.is_file():
            yield path
        elif path.is_dir() and not _is_skipped(path, root):
            yield from _files(path, root)


def _is_skipped(folder: Path, root: Path) -> bool:
    hidden = folder.name.startswith(".") and folder.name not in _KEPT_DOT_FOLDERS
    environment = (folder / "pyvenv.cfg").exists()
    return hidden or environment or folder.name in _SKIPPED_FOLDERS or folder == root / "results" / "runs"


def _is_text(path: Path) -> bool:
    return path.suffix in _TEXT_SUFFIXES or path.name in _TEXT_NAMES
