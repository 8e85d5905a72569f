"""The project's metadata: nothing is packaged, every third-party import is declared, the lock is whole and clean.

Owns: pyproject.toml and requirements.lock as data. Does not install anything. Floor: tests. Source: ours.
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterator, Mapping
from importlib.metadata import packages_distributions
from pathlib import Path, PurePosixPath
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.tidy import words
from tests.tidy.names import imported_names
from tests.tidy.source import PROJECT_AREAS, ROOT, Finding, Source, python_sources

# Import names of the optional extras, which the lock leaves out: they are imported late, where they are needed.
OPTIONAL_LIBRARIES = frozenset({"atheris", "cupy", "cupyx", "frontrun", "ray", "torch"})
# What scripts of benchmarks/live import, which run as servers in environments of their own, with locks of their own.
SERVER_LIBRARIES = frozenset({"tokenizers", "transformers", "xllamacpp"})
LOCK_LINE = re.compile(
    r"[a-z0-9][a-z0-9._-]*==[\w.+!]+(?: ; [\w. !=<>\"]+)? \\|    --hash=sha256:[0-9a-f]{64}(?: \\)?| +#.*"
)


@pytest.fixture(scope="module")
def pyproject() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def _names(requirements: list[str]) -> frozenset[str]:
    return frozenset(canonicalize_name(Requirement(text).name) for text in requirements)


def _runtime(pyproject: Mapping[str, Any]) -> frozenset[str]:
    return _names(pyproject["project"]["dependencies"])


def _dev(pyproject: Mapping[str, Any]) -> frozenset[str]:
    return _names(pyproject["project"]["optional-dependencies"]["dev"])


def undeclared_imports(
    source: Source, declared: frozenset[str], installed: Mapping[str, list[str]]
) -> Iterator[Finding]:
    """Third-party imports whose distribution is not in `declared`, which a fresh environment need not have."""
    for imported in imported_names(source):
        library = imported.name.split(".")[0]
        if library in sys.stdlib_module_names or library in PROJECT_AREAS or library in OPTIONAL_LIBRARIES:
            continue
        if library in SERVER_LIBRARIES and source.path.match("benchmarks/live/*_child.py"):
            continue
        distributions = {canonicalize_name(name) for name in installed.get(library, [])}
        if not distributions & declared:
            yield source.finding(imported.line, f"{library} is not declared in pyproject.toml")


def test_imports_are_declared(pyproject: dict[str, Any]) -> None:
    installed = packages_distributions()
    runtime = _runtime(pyproject)
    # packaging is a dependency of pytest and of pip: the tests may rely on it.
    testing = runtime | _dev(pyproject) | {"packaging"}
    # Only pytest loads its plugins, so there it is installed.
    findings = [
        str(finding)
        for source in python_sources()
        for finding in undeclared_imports(
            source, runtime if source.is_shipped and source.path.stem != "pytest_plugin" else testing, installed
        )
    ]
    assert not findings, "\n" + "\n".join(findings)


def test_undeclared_import_is_found() -> None:
    text = "import os\nimport numpy.linalg\nimport kernels\ndef f():\n    import torch\n    from absent import x\n"
    source = Source(PurePosixPath("results/a.py"), text)
    installed = {"numpy": ["numpy"], "absent": ["Absent_Dist"]}
    found = [finding.line for finding in undeclared_imports(source, frozenset({"numpy"}), installed)]
    assert found == [6]
    assert [*undeclared_imports(source, frozenset({"numpy", "absent-dist"}), installed)] == []


def test_nothing_is_packaged(pyproject: dict[str, Any]) -> None:
    """A wheel with a top-level `kernels` would overwrite the files of the Hugging Face distribution."""
    assert pyproject["tool"]["setuptools"] == {"packages": [], "py-modules": []}
    assert pyproject["tool"]["uv"] == {"package": False}


def test_description_is_ours(pyproject: dict[str, Any]) -> None:
    description = pyproject["project"]["description"]
    assert description.endswith(".")
    assert [*words.no_template_text(PurePosixPath("pyproject.toml"), description)] == []


def test_extras_are_the_promised_ones(pyproject: dict[str, Any]) -> None:
    assert set(pyproject["project"]["optional-dependencies"]) == {"dev", "cuda", "torch", "cluster", "peers"}
    assert pyproject["project"]["requires-python"] == ">=3.11"


LOCKS = [ROOT / "requirements.lock", *sorted((ROOT / "benchmarks" / "live" / "requirements").glob("*.lock"))]


@pytest.mark.parametrize("lock", LOCKS, ids=lambda lock: lock.stem)
def test_lock_holds_only_pins_hashes_and_comments(lock: Path) -> None:
    lines = lock.read_text(encoding="utf-8").splitlines()
    assert [line for line in lines if LOCK_LINE.fullmatch(line) is None] == []


def test_each_server_has_a_lock() -> None:
    assert {lock.stem for lock in LOCKS} == {"requirements", "dynamo", "llamacpp", "parts", "vllm"}


def test_lock_satisfies_pyproject(pyproject: dict[str, Any]) -> None:
    lock = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    pins = {canonicalize_name(name): pin for name, pin in re.findall(r"^([\w.-]+)==(\S+) ", lock, re.MULTILINE)}
    project = pyproject["project"]
    for text in project["dependencies"] + project["optional-dependencies"]["dev"]:
        requirement = Requirement(text)
        assert requirement.specifier.contains(pins[canonicalize_name(requirement.name)]), text


@pytest.mark.parametrize("line", ["--index-url https://example.test/simple", "numpy", "numpy>=2", "a @ file:///a.whl"])
def test_lock_pattern_rejects(line: str) -> None:
    assert LOCK_LINE.fullmatch(line) is None
