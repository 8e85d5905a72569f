"""The state of a host program between two polls: same state, same question, same answer.

Owns: a number for where a generator stands and what its local variables hold. Does not see what objects keep inside
themselves: a poll counter in an attribute is taken on trust not to matter. Floor 2b.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

_DEPTH_MAX = 3


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
    if isinstance(value, list | tuple | set | frozenset) and depth < _DEPTH_MAX:
        return (type(value).__name__, *(_state(part, numbers, depth + 1) for part in value))
    return numbers.of(value)
