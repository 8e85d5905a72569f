"""Programs: what is explored. A program builds buffers, streams and events on a machine and spawns host programs.

Owns: the type, a program's name and hash. Does not own: running it. Floor 2b.

A program must be a function of the machine alone: no clock, no random numbers, no state kept from one call to the next.
It is called again and again, and what it does must follow from what its host programs were answered.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import is_dataclass
from hashlib import blake2b
from types import CodeType

from kernels.errors import KVRaceError
from kernels.substrate.contract import Machine

Program = Callable[[Machine], None]


class ProgramFailed(KVRaceError):
    """A program that cannot even be set up: an undeclared access, a copy between regions of two sizes."""

    exit_code = 2

    def __init__(self, program: str, why: str) -> None:
        self.program = program
        self.why = why
        super().__init__(f"program {program} cannot be run: {why}")


def program_name(program: Program) -> str:
    """A function's own name; of other callables their `name`, where they have one."""
    name = getattr(program, "__qualname__", None) or getattr(program, "name", None)
    return str(name) if name is not None else type(program).__qualname__


def program_hash(program: Program) -> str:
    """Eight hex digits that change when the program's code, constants or captured values change.

    Functions of its own module that it calls count too. Code of other modules does not, nor do line numbers.
    """
    digest = blake2b(digest_size=4)
    function = program if hasattr(program, "__code__") else type(program).__call__
    captured = [] if hasattr(program, "__code__") else [value for _, value in sorted(vars(program).items())]
    _add_function(digest.update, function, set())
    for value in captured:
        _add_value(digest.update, value, set())
    return digest.hexdigest()


def _add_function(update: Callable[[bytes], None], function: object, seen: set[CodeType]) -> None:
    code = getattr(function, "__code__", None)
    if not isinstance(code, CodeType) or code in seen:
        return
    seen.add(code)
    _add_code(update, code)
    for cell in getattr(function, "__closure__", None) or ():
        _add_value(update, cell.cell_contents, seen)
    _add_value(update, getattr(function, "__defaults__", None), seen)
    for name in _names_of(code):
        called = getattr(function, "__globals__", {}).get(name)
        if getattr(called, "__module__", None) == getattr(function, "__module__", None):
            _add_function(update, called, seen)


def _add_value(update: Callable[[bytes], None], value: object, seen: set[CodeType]) -> None:
    if hasattr(value, "__code__"):
        _add_function(update, value, seen)
    elif isinstance(value, tuple | list):
        for part in value:
            _add_value(update, part, seen)
    elif isinstance(value, str | int | float | bool | bytes | None) or is_dataclass(value):
        update(repr(value).encode())


def _names_of(code: CodeType) -> list[str]:
    names = list(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            names += _names_of(constant)
    return names


def _add_code(update: Callable[[bytes], None], code: CodeType) -> None:
    update(code.co_code)
    update(repr(code.co_names).encode())
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            _add_code(update, constant)
        else:
            # A set of constants has no order of its own from one process to the next.
            update(repr(sorted(map(repr, constant)) if isinstance(constant, frozenset) else constant).encode())
