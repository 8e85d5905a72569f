"""The law of drain: a range is freed only by who knows that every transfer on it is over.

Owns: the law. Needs: `claim` and `free`. Floor 2b. Source: facts/bugs.md class 4 (FREE-IN-FLIGHT) and its oracle, the
overlap of {alloc..free} and {transfer start..end}; here by what the freeing thread knew, so that a transfer that was
quick by chance excuses nobody.

The order that saves the bytes may lie elsewhere: who gets the range next may wait on its stream. So a breach says that
the free list may hand out pages that are still in use, and the detector says whether somebody then used them unordered.
Kernels do not count, because a stream that runs on in order is the usual way to hand pages on.
"""

from __future__ import annotations

from collections.abc import Iterator

from kernels.races.laws.breach import Breach, LawName
from kernels.races.laws.history import History, Step
from kernels.races.laws.marks import Mark
from kernels.races.laws.owners import AddressMap, Bytes


def drain(history: History) -> Iterator[Breach]:
    """One breach for each range that is freed under a transfer."""
    addresses = AddressMap(history)
    claimed: dict[Bytes, int] = {}
    copies = [step for step in history.steps if step.operation.kind == "copy"]
    for mark in history.marks_of("claim", "free"):
        for name, where in addresses.of_mark(mark):
            if mark.kind == "claim":
                claimed[where] = mark.ordinal
                continue
            since = claimed.pop(where, 0)
            for step in copies:
                is_its_own = since < step.ordinal < mark.ordinal and _touches(step, where, addresses)
                if is_its_own and not history.was_known(step, mark):
                    yield Breach(LawName.DRAIN, mark.ordinal, _sentence(mark, name, step))
                    break


def _touches(step: Step, where: Bytes, addresses: AddressMap) -> bool:
    return any(
        where.meets(reached)
        for touched in step.touched
        for reached in addresses.bytes_of(touched.buffer, touched.layers, touched.intervals)
    )


def _sentence(mark: Mark, name: str, step: Step) -> str:
    copy = f"#{step.ordinal} {step.label}"
    return f"{mark['owner']} frees {name}, and thread {mark.thread} does not know that {copy} is over"
