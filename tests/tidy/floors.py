"""The floors of the house, and the rules about which module may import which.

Owns: the table of floors and the heavy libraries that no module may import on loading. Does not know what the floors
do. Floor: tests. Source: docs of the project's layout; the table is the only copy of it in code.
"""

from __future__ import annotations

from collections.abc import Iterator

from tests.tidy.names import imported_names
from tests.tidy.source import PROJECT_AREAS, Finding, Source

# Floor -> the floors below it that it may import. `kernels` alone is the package's __init__, which imports nothing.
FLOORS: dict[str, frozenset[str]] = {
    "kernels": frozenset(),
    "kernels.errors": frozenset(),
    "kernels.arrays": frozenset({"kernels.errors"}),
    "kernels.substrate": frozenset({"kernels.errors", "kernels.arrays"}),
    "kernels.hicache": frozenset({"kernels.errors", "kernels.arrays", "kernels.substrate"}),
    "kernels.races": frozenset({"kernels.errors", "kernels.arrays", "kernels.substrate"}),
    "kernels.engine": frozenset({"kernels.errors", "kernels.arrays", "kernels.substrate", "kernels.hicache"}),
    "results": frozenset({"kernels.errors"}),
}
_MACHINE = frozenset(FLOORS)
FLOORS["scenarios"] = _MACHINE
FLOORS["harness"] = _MACHINE | {"scenarios"}
FLOORS["run"] = frozenset({"harness", "kernels.errors"})

# Modules that nothing of the product imports: checks of its state after every step, a plugin that pytest loads, page
# gathers that the substrates with real bytes need, and the frames and figures that notebooks show.
_FOR_TESTS = frozenset({"kernels.substrate.virtual.invariants", "kernels.races.pytest_plugin"})
_SLIDES = frozenset(f"results.report.slides.{name}" for name in ("races", "rates", "times"))
_FOR_OTHERS = _SLIDES | {"kernels.arrays.pages", "results.frames"}
_HEAVY = frozenset({"transformers", "torch", "sglang"})
_GPU = frozenset({"cupy", "cupyx"})


def floor_of(name: str) -> str | None:
    """The floor that a dotted name lies on: the longest entry of the table that begins it."""
    parts = name.split(".")
    prefixes = (".".join(parts[:count]) for count in range(len(parts), 0, -1))
    return next((prefix for prefix in prefixes if prefix in FLOORS), None)


def imports_stay_below(source: Source) -> Iterator[Finding]:
    """A floor imports itself and what the table lists; imports in functions and for type checkers count."""
    if not source.is_shipped:
        return
    own = floor_of(source.module)
    if own is None or (own == "kernels" and source.module != "kernels"):
        yield source.finding(1, f"module {source.module} lies on no floor: add its folder to the table in tests/tidy")
        return
    for imported in imported_names(source):
        if imported.name.split(".")[0] not in PROJECT_AREAS:
            continue
        target = floor_of(imported.name)
        if target != own and target not in FLOORS[own]:
            yield source.finding(imported.line, f"floor {own} must not import {imported.name}")


def heavy_libraries_load_late(source: Source) -> Iterator[Finding]:
    """No shipped module loads an inference stack on import; CuPy only in files or folders named cuda*."""
    if not source.is_shipped:
        return
    is_cuda = any(part.startswith("cuda") for part in source.path.parts)
    banned = _HEAVY if is_cuda else _HEAVY | _GPU
    for imported in imported_names(source):
        library = imported.name.split(".")[0]
        if imported.is_top_level and library in banned:
            yield source.finding(imported.line, f"{library} must not be imported when a module loads")


def unused_modules(sources: list[Source]) -> Iterator[Finding]:
    """A module of the three packages that nothing but a test imports is dead; packages themselves are exempt."""
    modules = {source.module: source for source in sources if source.area in {"kernels", "harness", "results"}}
    used: set[str] = set()
    for source in sources:
        if source.area == "tests":
            continue
        for imported in imported_names(source):
            parts = imported.name.split(".")
            prefixes = (".".join(parts[:count]) for count in range(len(parts), 0, -1))
            target = next((prefix for prefix in prefixes if prefix in modules), None)
            if target is not None and target != source.module:
                used.add(target)
    for module, source in modules.items():
        is_entry = source.is_package or module.split(".")[-1] == "__main__"
        if not is_entry and module not in used | _FOR_TESTS | _FOR_OTHERS:
            yield source.finding(1, f"no module of the project imports {module}")
