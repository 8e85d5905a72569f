"""Patching: one function's code, changed in memory for as long as a context lasts, with proof that the change ran.

Owns: the change as text, its compilation, putting it in and taking it out again. Does not own: which changes there are
(`catalogue`). Floor 5.

Only the code object of the function is exchanged. So everybody who holds the function runs the change, however it was
imported, and nothing on disk is touched. Where the text to be changed is not there exactly once, that is an error: the
list has to follow the code.
"""

from __future__ import annotations
import __future__

import ast
import importlib
import inspect
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import CodeType, FunctionType

_PROBE = "_kvrace_mutant_ran"


class ChangeRefused(AssertionError):
    """A change that does not fit the code any more: our own mistake."""


@contextmanager
def changed(target: str, changes: Sequence[tuple[str, str]]) -> Iterator[list[bool]]:
    """Run the body with a function changed. Yields: one flag for each change, true once its line has run.

    Args:
        target: `package.module:Class.function`. changes: text of the function, and what stands there instead.
    Raises: ChangeRefused.
    """
    function = _function(target)
    ran = [False] * len(changes)

    def note(number: int) -> None:
        ran[number] = True

    own = function.__code__
    code = _compiled(function, target, changes)
    assert _PROBE not in function.__globals__, f"{target}: one change at a time"
    function.__globals__[_PROBE] = note
    function.__code__ = code
    try:
        yield ran
    finally:
        function.__code__ = own
        del function.__globals__[_PROBE]


def _function(target: str) -> FunctionType:
    module_name, _, path = target.partition(":")
    owner: object = importlib.import_module(module_name)
    for name in path.split("."):
        owner = inspect.getattr_static(owner, name)
    if isinstance(owner, property):
        owner = owner.fget
    if not isinstance(owner, FunctionType):
        raise ChangeRefused(f"{target} is no function")
    return owner


def _compiled(function: FunctionType, target: str, changes: Sequence[tuple[str, str]]) -> CodeType:
    lines, first_line = inspect.getsourcelines(function)
    text = "".join(lines)
    if text[:1].isspace():
        # A method keeps its indentation, so that changes of several lines are written as they stand in the file.
        text, first_line = f"if True:\n{text}", first_line - 1
    spots: list[tuple[int, int]] = []
    for number, (old, new) in enumerate(changes):
        if text.count(old) != 1:
            raise ChangeRefused(f"{target} has {text.count(old)} times, not once: {old}")
        begin = text.index(old)
        # The line that differs first: what stands before it in both texts is only there to find the place.
        same = len(_common(old, new))
        line = text.count("\n", 0, begin) + old.count("\n", 0, same) + 1
        added = new.count("\n") - old.count("\n")
        spots = [(at + added if at > line else at, other) for at, other in spots]
        spots.append((line, number))
        text = text[:begin] + new + text[begin + len(old) :]
    tree = ast.parse(text)
    for line, number in spots:
        _probe(tree, line, number)
    ast.fix_missing_locations(tree)
    ast.increment_lineno(tree, first_line - 1)
    # Decorators make objects, not code: the function's own code is looked for by its name.
    compiled = compile(tree, function.__code__.co_filename, "exec", __future__.annotations.compiler_flag, True)
    code = next(part for part in compiled.co_consts if isinstance(part, CodeType) and part.co_name == function.__name__)
    if code.co_freevars != function.__code__.co_freevars:
        raise ChangeRefused(f"{target}: a function that captures variables cannot be changed")
    return code.replace(co_qualname=function.__code__.co_qualname)


def _common(one: str, other: str) -> str:
    length = next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
    return one[:length]


def _probe(tree: ast.Module, line: int, number: int) -> None:
    """Put a note in front of the innermost statement that holds this line."""
    best: tuple[int, list[ast.stmt], int] | None = None
    for node in ast.walk(tree):
        for _, body in ast.iter_fields(node):
            if not (isinstance(body, list) and body and isinstance(body[0], ast.stmt)):
                continue
            for index, statement in enumerate(body):
                end = statement.end_lineno or statement.lineno
                if statement.lineno <= line <= end and (best is None or end - statement.lineno < best[0]):
                    best = (end - statement.lineno, body, index)
    if best is None:
        raise ChangeRefused(f"no statement at line {line} of the changed text")
    _, body, index = best
    note = ast.Expr(ast.Call(ast.Name(_PROBE, ast.Load()), [ast.Constant(number)], []))
    body.insert(index, ast.copy_location(note, body[index]))
