"""The state of a host program between two polls: same state, same question, same answer.

Owns: a number for where a generator stands and what its local variables hold, with what lies up to four steps in
them: elements, attributes, captured variables. A poll counter that lies deeper is taken on trust. Floor 2b.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from types import FunctionType
from typing import Any

from kernels.races.scheduler.issue import IssueBuffer, IssueEvent, IssueStream, IssueThread, IssuingMachine

_DEPTH_MAX = 4
_MACHINE = IssueStream | IssueEvent | IssueThread | IssueBuffer | IssuingMachine


class ObjectNumbers:
    """Objects by the order in which they were first met: the same in every run of a program, which ids are not."""

    def __init__(self) -> None:
        # The object is kept with its number, so that its id cannot be given to another one.
        self._known: dict[int, tuple[int, object]] = {}

    def __repr__(self) -> str:
        return f"ObjectNumbers({len(self._known)})"

    def of(self, value: object) -> int:
        known = self._known.get(id(value))
        if known is None:
            known = self._known[id(value)] = (len(self._known), value)
        return known[0]


def frame_state(program: Generator[Any, Any, Any], numbers: ObjectNumbers) -> int:
    """A hash over the frames of a suspended generator and of those that it delegates to."""
    states: list[object] = []
    at: object = program
    while isinstance(at, Generator):
        frame = getattr(at, "gi_frame", None)
        if frame is None:
            break
        variables = sorted(frame.f_locals.items())
        states.append((frame.f_lasti, *((name, _state(value, numbers, 0)) for name, value in variables)))
        at = getattr(at, "gi_yieldfrom", None)
    return hash(tuple(states))


def _state(value: object, numbers: ObjectNumbers, depth: int) -> object:
    if isinstance(value, bool | int | str | float | bytes) or value is None:
        return (type(value).__name__, value)
    if depth == _DEPTH_MAX or isinstance(value, _MACHINE | type):
        return numbers.of(value)
    if isinstance(value, list | tuple | set | frozenset):
        return (type(value).__name__, *(_state(part, numbers, depth + 1) for part in value))
    if isinstance(value, dict):
        items = ((_state(key, numbers, depth + 1), _state(held, numbers, depth + 1)) for key, held in value.items())
        return ("dict", *items)
    if isinstance(value, FunctionType):
        cells = (cell.cell_contents for cell in value.__closure__ or ())
        return (numbers.of(value), *(_state(held, numbers, depth + 1) for held in cells))
    return (numbers.of(value), *_attributes(value, numbers, depth))


def _attributes(value: object, numbers: ObjectNumbers, depth: int) -> Iterator[object]:
    """What an object keeps inside itself, in a `__dict__` or in slots."""
    slots = (name for one in type(value).__mro__ for name in getattr(one, "__slots__", ()))
    for name in sorted({*getattr(value, "__dict__", ()), *slots}):
        if hasattr(value, name):
            yield name, _state(getattr(value, name), numbers, depth + 1)
