"""One mutant of the cache's code, as a declaration. Floor 5.

Owns: the record. Does not own: the list (`catalogue`), the verdict (`judging`).
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CodeMutant:
    """A change of one function, and what a report has to say if it noticed *this* change.

    target: `module:Class.function` below `kernels.hicache`. changes: text, and what stands there instead. orders: names
    of the orders (`edges`) that it takes away; a report must name each of them. assertion: pattern of the assertion of
    the cache, or of the check of content, that must speak instead, where it takes away bookkeeping and no order.
    reason: why it cannot matter, where all orders are looked at and none is wrong.
    """

    what: str
    target: str
    changes: tuple[tuple[str, str], ...]
    orders: tuple[str, ...] = ()
    assertion: str = ""
    reason: str = ""

    @property
    def place(self) -> str:
        """`gate.py LayerRing.claim`"""
        module, _, function = self.target.partition(":")
        return f"{module}.py {function}"
