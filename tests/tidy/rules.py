"""The rules that look at one Python file: size, docstring, names, time, randomness, output, error handling.

Owns: what is banned and what to use instead. Does not know about floors or about other text files. Floor: tests.
Source: the project's house rules (CONTRIBUTING.md).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tests.tidy.names import imported_names, used_names
from tests.tidy.source import Finding, Source

FILE_LINES_MAX = 300
TEST_FILE_LINES_MAX = 400
FUNCTION_LINES_MAX = 70

_VAGUE_NAMES = frozenset({"common", "helper", "helpers", "manager", "managers", "util", "utils"})
_WAITING_CLOCK = frozenset(
    {"asyncio.sleep", "time.monotonic", "time.monotonic_ns", "time.sleep", "time.time", "time.time_ns"}
)
_MEASURING_CLOCK = frozenset({"time.perf_counter", "time.perf_counter_ns"})
_SEEDED = frozenset({"BitGenerator", "Generator", "PCG64", "Philox", "SeedSequence", "default_rng"})
_TAKES_SEED = frozenset({"PCG64", "Philox", "SeedSequence", "default_rng"})
_CATCH_ALL = frozenset({"Exception", "BaseException"})
_PRINTING_AREAS = frozenset({"benchmarks", "docs"})


def file_is_short(source: Source) -> Iterator[Finding]:
    """One idea a file: the limit is what fits a reader's head, not a screen."""
    limit = TEST_FILE_LINES_MAX if source.area == "tests" else FILE_LINES_MAX
    count = len(source.text.splitlines())
    if count > limit:
        yield source.finding(limit + 1, f"file has {count} lines, at most {limit}")


def functions_are_short(source: Source) -> Iterator[Finding]:
    for node in ast.walk(source.tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            count = (node.end_lineno or node.lineno) - node.lineno + 1
            if count > FUNCTION_LINES_MAX:
                yield source.finding(node.lineno, f"{node.name} has {count} lines, at most {FUNCTION_LINES_MAX}")


def module_has_docstring(source: Source) -> Iterator[Finding]:
    if not ast.get_docstring(source.tree):
        yield source.finding(
            1, "no module docstring: say what the module owns, what it does not, its floor, its source"
        )


def module_name_says_something(source: Source) -> Iterator[Finding]:
    for part in source.path.with_suffix("").parts:
        if part in _VAGUE_NAMES:
            yield source.finding(1, f"'{part}' names no idea: call the module after what it owns")


def time_comes_from_clock(source: Source) -> Iterator[Finding]:
    """Reading or waiting for the wall clock is kept in clock.py, so that a test or a simulation can replace it."""
    if source.path.name == "clock.py" or not (source.is_shipped or source.area == "benchmarks"):
        return
    may_measure = source.is_command_line or source.area == "benchmarks"
    banned = _WAITING_CLOCK if may_measure else _WAITING_CLOCK | _MEASURING_CLOCK
    for line, name in _mentions(source):
        if name in banned:
            yield source.finding(line, f"{name} outside clock.py: take a clock as an argument")


def randomness_is_seeded(source: Source) -> Iterator[Finding]:
    """No hidden global generator, and none that is seeded by the machine: each run follows from one seed."""
    for line, name in _mentions(source):
        parts = name.split(".")
        is_global = parts[:2] == ["numpy", "random"] and len(parts) > 2 and parts[2] not in _SEEDED
        if is_global or (parts[0] == "random" and len(parts) > 1 and parts[1] != "Random"):
            yield source.finding(line, f"{name} is global: take a numpy.random.Generator")
    calls = {id(node.func): node for node in ast.walk(source.tree) if isinstance(node, ast.Call)}
    for use, name in used_names(source):
        call = calls.get(id(use))
        is_numpy = name.startswith("numpy.random.") and name.split(".")[-1] in _TAKES_SEED
        if call is not None and (is_numpy or name == "random.Random") and not (call.args or call.keywords):
            yield source.finding(use.lineno, f"{name}() without a seed differs on every run")


def output_goes_through_command_line(source: Source) -> Iterator[Finding]:
    if source.is_command_line or source.area in _PRINTING_AREAS:
        return
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print":
            yield source.finding(node.lineno, "print outside harness/cli: return the text")


# The last line of the command line, and the end of a thread, whose failure would otherwise go unheard.
_MAY_CATCH_ALL = ("harness/cli/main.py", "kernels/substrate/threaded/lane.py")


def errors_are_caught_by_name(source: Source) -> Iterator[Finding]:
    """A catch-all hides our own bugs; the command line has the only one, which reports them."""
    lines = sorted(line for node in ast.walk(source.tree) for line in _catch_all_lines(node))
    allowed = 1 if str(source.path) in _MAY_CATCH_ALL else 0
    for line in lines[allowed:]:
        yield source.finding(line, "catches everything: name the errors that are expected here")


def _catch_all_lines(node: ast.AST) -> Iterator[int]:
    if isinstance(node, ast.ExceptHandler):
        caught = node.type.elts if isinstance(node.type, ast.Tuple) else [node.type]
        if any(_is_catch_all(item) for item in caught) and not _tidies_up(node):
            yield node.lineno
    elif isinstance(node, ast.Call):
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if name == "suppress" and any(_is_catch_all(item) for item in node.args):
            yield node.lineno


def _tidies_up(handler: ast.ExceptHandler) -> bool:
    """`except BaseException: ...; raise` hides nothing, and is the way to clean up after a cancellation too."""
    last = handler.body[-1]
    is_base = isinstance(handler.type, ast.Name) and handler.type.id == "BaseException"
    return is_base and isinstance(last, ast.Raise) and last.exc is None


def _is_catch_all(caught: ast.expr | None) -> bool:
    return caught is None or (isinstance(caught, ast.Name) and caught.id in _CATCH_ALL)


def _mentions(source: Source) -> Iterator[tuple[int, str]]:
    """Imports and uses of imported names; a use of a name that was imported by itself is not told twice."""
    imported = [(item.line, item.name) for item in imported_names(source)]
    yield from imported
    known = {name for _, name in imported}
    for node, name in used_names(source):
        if name not in known:
            yield node.lineno, name
