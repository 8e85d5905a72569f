"""Which names a source imports and which imported names it uses, spelled in full.

Owns: resolving `import a as b`, `from . import c`, imports inside functions and under `TYPE_CHECKING`, and
`importlib.import_module("...")`. Does not judge them. Floor: tests. Source: ours.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from tests.tidy.source import Source


@dataclass(frozen=True, slots=True)
class Imported:
    """One imported name in full (`kernels.hicache.pools.Pool`), and whether loading the module runs the import."""

    line: int
    name: str
    is_top_level: bool


def imported_names(source: Source) -> Iterator[Imported]:
    """Every import of the file, wherever it stands."""
    yield from _imports_below(source, source.tree, is_top_level=True)


def _imports_below(source: Source, node: ast.AST, *, is_top_level: bool) -> Iterator[Imported]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import):
            for alias in child.names:
                yield Imported(child.lineno, alias.name, is_top_level)
        elif isinstance(child, ast.ImportFrom):
            base = absolute_module(source, child)
            for alias in child.names:
                yield Imported(child.lineno, base if alias.name == "*" else f"{base}.{alias.name}", is_top_level)
        elif isinstance(child, ast.Call) and (name := _dynamic_import(child)) is not None:
            yield Imported(child.lineno, name, is_top_level)
        is_function = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        yield from _imports_below(source, child, is_top_level=is_top_level and not is_function)


def absolute_module(source: Source, node: ast.ImportFrom) -> str:
    """The module that `from ... import` names, with leading dots resolved against the source's package."""
    if node.level == 0:
        return node.module or ""
    parts = source.module.split(".")
    package = parts if source.is_package else parts[:-1]
    kept = package[: len(package) - (node.level - 1)]
    return ".".join([*kept, node.module] if node.module else kept)


def _dynamic_import(call: ast.Call) -> str | None:
    function = call.func
    name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    if name not in {"import_module", "__import__"} or not call.args:
        return None
    argument = call.args[0]
    return argument.value if isinstance(argument, ast.Constant) and isinstance(argument.value, str) else None


def used_names(source: Source) -> Iterator[tuple[ast.expr, str]]:
    """Every use of an imported name with its attributes, in full: `np.random.rand` gives `numpy.random.rand`."""
    aliases = _aliases(source)
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Attribute | ast.Name):
            name = _dotted(node, aliases)
            if name is not None:
                yield node, name


def _aliases(source: Source) -> dict[str, str]:
    aliases: dict[str, str] = {}
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                first = alias.name.split(".")[0]
                aliases[alias.asname or first] = alias.name if alias.asname else first
        elif isinstance(node, ast.ImportFrom):
            base = absolute_module(source, node)
            for alias in node.names:
                aliases[alias.asname or alias.name] = f"{base}.{alias.name}"
    return aliases


def _dotted(node: ast.expr, aliases: dict[str, str]) -> str | None:
    if isinstance(node, ast.Name):
        return aliases.get(node.id)
    if isinstance(node, ast.Attribute):
        base = _dotted(node.value, aliases)
        return None if base is None else f"{base}.{node.attr}"
    return None
