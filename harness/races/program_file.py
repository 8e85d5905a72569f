"""Programs out of users' files: `FILE` or `FILE:FUNCTION`, any function of one machine.

Owns: loading the file, choosing the function, and blaming the file's own mistakes on the file. Does not own: exploring.
Floor 5.
"""

from __future__ import annotations

import hashlib
import importlib.util
import inspect
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

from kernels.races.scheduler.program import Program, ProgramFailed

DEFAULT_FUNCTION = "program"
"""The function that is explored where none is named."""

MISTAKES = (ArithmeticError, AttributeError, ImportError, LookupError, NameError, OSError, RuntimeError, SyntaxError,
            TypeError, ValueError)  # fmt: skip
"""What a user's code may raise by mistake; everything else is let through."""


def load_program(target: str) -> Program:
    """The program that `FILE[:FUNCTION]` names. Effect: runs the file's top level.

    Raises: ProgramFailed with a sentence where there is no such file or function, or the file itself breaks.
    """
    name, separator, function = target.rpartition(":")
    if not separator:
        name, function = target, ""
    path = Path(name)
    if not path.is_file():
        raise ProgramFailed(target, f"there is no file {name}")
    module = _module(path, target)
    # The class that a file imports is not the file's own program.
    own = {
        key: value
        for key, value in vars(module).items()
        if inspect.isfunction(value) and value.__module__ == module.__name__ and not key.startswith("_")
    }
    wanted = function or DEFAULT_FUNCTION
    found = vars(module).get(wanted)
    if found is None and not function:
        alone = [value for value in own.values() if _takes_a_machine(value)]
        found = alone[0] if len(alone) == 1 else None
    if not callable(found) or not _takes_a_machine(found):
        candidates = ", ".join(sorted(key for key, value in own.items() if _takes_a_machine(value))) or "none"
        what = f"it has no function '{wanted}' of one argument, the machine; functions that would do: {candidates}"
        raise ProgramFailed(target, f"{what} (name one as FILE:FUNCTION)")
    program: Program = found
    return program


@contextmanager
def blaming(target: str) -> Iterator[None]:
    """Turns a mistake in the user's file into one sentence with its line; our own mistakes stay what they are.

    Raises: ProgramFailed.
    """
    path = Path(target.rpartition(":")[0] or target).resolve()
    try:
        yield
    except MISTAKES as mistake:
        frames = [frame for frame in traceback.extract_tb(mistake.__traceback__) if Path(frame.filename) == path]
        if not frames:
            raise
        what = f"{type(mistake).__name__}: {mistake} ({path.name}:{frames[-1].lineno})"
        raise ProgramFailed(target, what) from mistake


def _module(path: Path, target: str) -> ModuleType:
    path = path.resolve()
    # Files of one name in two folders are two modules.
    name = f"kvrace_program_{path.stem}_{hashlib.blake2b(str(path).encode(), digest_size=4).hexdigest()}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ProgramFailed(target, "it is no Python file: its name must end in .py")
    module = importlib.util.module_from_spec(spec)
    # Dataclasses and pickles look their module up by name.
    sys.modules[name] = module
    try:
        with blaming(target):
            spec.loader.exec_module(module)
    except SyntaxError as mistake:
        # The parser's own frames are not the file's: the line is in the error.
        raise ProgramFailed(target, f"SyntaxError: {mistake.msg} ({path.name}:{mistake.lineno})") from mistake
    return module


def _takes_a_machine(function: object) -> bool:
    if not callable(function):
        return False
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return False
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    needed = [one for one in parameters if one.default is inspect.Parameter.empty and one.kind in positional]
    return len(needed) == 1
