"""The law of owners: a shadow map from addresses to owners. No byte has two, and nobody touches what is another's.

Owns: the law. Needs: `claim`, `free`; knows more with `placed` (buffers that share bytes) and `acts` (who an operation
is for). Floor 2b. Source: facts/bugs.md classes 11 (ALIAS), 8 (PIN-GAP: one page handed out twice), 6 (one slot or room
for two owners), 3 (a write into a page that others use).

An address is a byte of a memory space where the buffer was placed, and of the buffer itself where it was not.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from kernels.races.laws.breach import Breach, LawName
from kernels.races.laws.history import History, Intervals, Step
from kernels.races.laws.marks import Mark
from kernels.substrate.columns import BufferFacts


class Bytes(NamedTuple):
    """[begin, end) of one address space."""

    space: str
    begin: int
    end: int

    def meets(self, other: Bytes) -> bool:
        return self.space == other.space and self.begin < other.end and other.begin < self.end


class _Claim(NamedTuple):
    owner: str
    ordinal: int
    is_shared: bool
    range: Bytes
    name: str


class AddressMap:
    """From layers and pages of a buffer to bytes."""

    def __init__(self, history: History) -> None:
        self._buffers = history.buffers
        self._address = {mark["buffer"]: int(mark["address"]) for mark in history.marks_of("placed")}

    def __repr__(self) -> str:
        return f"AddressMap({len(self._buffers)} buffers, {len(self._address)} placed)"

    def bytes_of(self, buffer: str, layers: Sequence[int], intervals: Intervals) -> Iterator[Bytes]:
        facts: BufferFacts = self._buffers[buffer]
        base = self._address.get(buffer)
        space = facts.space if base is not None else f"buffer {buffer}"
        unit = facts.page_bytes if facts.pages else 1
        for layer in layers:
            first = (base or 0) + layer * facts.pages * unit
            for begin, end in intervals:
                yield Bytes(space, first + begin * unit, first + end * unit)

    def of_mark(self, mark: Mark) -> Iterator[tuple[str, Bytes]]:
        """Each page of a mark's range with its name."""
        for layer in mark["layers"]:
            for page in mark["pages"]:
                (where,) = self.bytes_of(mark["buffer"], (layer,), ((page, page + 1),))
                yield f"{mark['buffer']}[layer {layer}] page {page}", where


def owners(history: History) -> Iterator[Breach]:
    """One breach for each claim, release or access that meets another owner."""
    addresses = AddressMap(history)
    claims: list[_Claim] = []
    acting: dict[str, str] = {}
    for row in history.in_order:
        if isinstance(row, Step):
            yield from _foreign(row, acting.get(row.operation.thread, ""), claims, addresses)
        elif row.kind == "acts":
            acting[row.thread] = row["owner"]
        elif row.kind == "claim":
            yield from _claimed(row, claims, addresses)
        elif row.kind == "free":
            yield from _freed(row, claims, addresses)


def _claimed(mark: Mark, claims: list[_Claim], addresses: AddressMap) -> Iterator[Breach]:
    for name, where in addresses.of_mark(mark):
        holder = next((one for one in claims if one.range.meets(where)), None)
        if holder is not None:
            what = f"{mark['owner']} is given {name}, which {holder.owner} has since #{holder.ordinal}"
            what += f" as {holder.name}" if holder.name != name else ""
            yield Breach(LawName.OWNERS, mark.ordinal, what)
        claims.append(_Claim(mark["owner"], mark.ordinal, bool(mark["shared"]), where, name))


def _freed(mark: Mark, claims: list[_Claim], addresses: AddressMap) -> Iterator[Breach]:
    for name, where in addresses.of_mark(mark):
        held = next((one for one in claims if one.owner == mark["owner"] and one.range == where), None)
        if held is None:
            others = sorted({one.owner for one in claims if one.range.meets(where)})
            whose = f"is {' and '.join(others)}'s" if others else "is nobody's"
            yield Breach(LawName.OWNERS, mark.ordinal, f"{mark['owner']} frees {name}, which {whose}")
        else:
            claims.remove(held)


def _foreign(step: Step, owner: str, claims: Sequence[_Claim], addresses: AddressMap) -> Iterator[Breach]:
    if not owner:
        return
    for touched in step.touched:
        reached = list(addresses.bytes_of(touched.buffer, touched.layers, touched.intervals))
        for claim in claims:
            is_allowed = claim.owner == owner or (claim.is_shared and not touched.is_write)
            if not is_allowed and any(claim.range.meets(where) for where in reached):
                verb = "writes" if touched.is_write else "reads"
                what = f"{step.label}, for {owner}, {verb} {claim.name}, which is {claim.owner}'s"
                yield Breach(LawName.OWNERS, step.ordinal, what)
                return
