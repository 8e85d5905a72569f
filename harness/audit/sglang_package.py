"""SGLang's sources in an installed or unpacked package, a checkout, or a wheel: found and parsed, never imported.

Owns: where the two files lie, and which classes and functions they have. Does not own: what they mean
(`sglang_formula`). Floor 5. Source: SGLang 0.5.16 and 0.5.23.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from zipfile import BadZipFile
from zipfile import Path as ZipPath

from harness.audit.errors import CannotJudgeError
from harness.audit.evaluator import Function
from kernels.errors import ConfigError

CONFIGURATOR = "DSV4PoolConfigurator"
INDEXER_POOL = "DeepSeekV4IndexerPool"
FORMULA = "_get_bytes_per_full_token"
SIZES = "_compute_dsv4_sizes"

_SIZING_FILE = "srt/model_executor/pool_configurator.py"
_POOL_FILE = "srt/mem_cache/deepseek_v4_memory_pool.py"
_VERSION_FILES = ("_version.py", "version.py")
_VERSION = re.compile(r"__version__\s*=(?:\s*version\s*=)?\s*['\"]([^'\"]+)['\"]")


@dataclass(frozen=True, slots=True)
class Package:
    """What is read of one version. first: what `__init__` assigns first to each attribute."""

    version: str
    configurator: Mapping[str, Function]
    indexer_pool: Mapping[str, Function]
    functions: Mapping[str, Function]
    first: Mapping[str, tuple[Function, ast.expr]]


def open_package(path: str) -> Package:
    """Raises: ConfigError where nothing is there; CannotJudgeError where it is a package without this formula."""
    root = _root(path)
    sizing, pool = _parse(root / _SIZING_FILE, _SIZING_FILE, path), _parse(root / _POOL_FILE, _POOL_FILE, path)
    configurator = _methods(sizing, CONFIGURATOR, _SIZING_FILE)
    for name in (FORMULA, SIZES):
        if name not in configurator:
            what = f"{_SIZING_FILE} has no {CONFIGURATOR}.{name}: an SGLang from before DeepSeek-V4, or a newer shape"
            raise CannotJudgeError(path, [what])
    functions = _functions(pool, _POOL_FILE) | _functions(sizing, _SIZING_FILE)
    return Package(
        version=_version(root),
        configurator=configurator,
        indexer_pool=_methods(pool, INDEXER_POOL, _POOL_FILE),
        functions=functions,
        first=_first_assignments(configurator.get("__init__")),
    )


def _root(path: str) -> Path | ZipPath:
    """The folder that holds `srt`."""
    given = Path(path)
    if not given.exists():
        raise ConfigError(f"--sglang '{path}': there is nothing at that path", key="--sglang", value=path)
    start: Path | ZipPath = given
    if given.is_file():
        try:
            start = ZipPath(given)
        except (BadZipFile, OSError) as problem:
            what = f"--sglang '{path}' is neither a folder nor a wheel"
            raise ConfigError(what, key="--sglang", value=path) from problem
    for candidate in (start, start / "sglang", start / "python" / "sglang"):
        if (candidate / "srt").is_dir():
            return candidate
    raise CannotJudgeError(path, ["no package sglang in it (no folder sglang/srt)"])


def _parse(file: Path | ZipPath, name: str, path: str) -> ast.Module:
    if not file.is_file():
        raise CannotJudgeError(path, [f"it has no {name}: an SGLang from before DeepSeek-V4, or a newer layout"])
    try:
        return ast.parse(file.read_text(encoding="utf-8"))
    except (SyntaxError, UnicodeDecodeError) as problem:
        raise CannotJudgeError(path, [f"{name} is not Python that can be parsed: {problem}"]) from problem


def _version(root: Path | ZipPath) -> str:
    for name in _VERSION_FILES:
        file = root / name
        found = _VERSION.search(file.read_text(encoding="utf-8")) if file.is_file() else None
        if found is not None:
            return found[1]
    return "of unknown version"


def _functions(module: ast.Module, file: str) -> dict[str, Function]:
    return {node.name: Function(node.name, file, node) for node in module.body if isinstance(node, ast.FunctionDef)}


def _methods(module: ast.Module, owner: str, file: str) -> dict[str, Function]:
    found = next((node for node in module.body if isinstance(node, ast.ClassDef) and node.name == owner), None)
    return {
        node.name: Function(f"{owner}.{node.name}", file, node)
        for node in (found.body if found is not None else ())
        if isinstance(node, ast.FunctionDef)
    }


def _first_assignments(init: Function | None) -> dict[str, tuple[Function, ast.expr]]:
    """What `__init__` assigns to `self.NAME` on its straight way, the first time."""
    found: dict[str, tuple[Function, ast.expr]] = {}
    for statement in init.node.body if init is not None else ():
        match statement:
            case ast.Assign(targets=[ast.Attribute(value=ast.Name(id="self"), attr=name)], value=expression):
                assert init is not None
                found.setdefault(name, (init, expression))
    return found
