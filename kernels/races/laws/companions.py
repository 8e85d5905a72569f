"""The law of companions: every pool that a page has is moved with it.

Owns: the law. Needs: `together`. Floor 2b. Source: facts/bugs.md class 9 (PARTIAL-SET): index keys, scales, recurrent
or draft state that a load or a backup forgets.

A page of one pool is behind when somebody reads it, although a companion's page of that number has been filled by a
copy since, and not from where this one was filled. What kernels fill the pools with is not compared.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import repeat
from typing import NamedTuple

from kernels.races.laws.breach import Breach, LawName
from kernels.races.laws.history import History, Step


class _Filled(NamedTuple):
    """Which operation wrote a page last, and the tier and page it was copied from; no tier where a kernel wrote."""

    ordinal: int
    tier: str
    page: int


_NEVER = _Filled(0, "", 0)


def companions(history: History) -> Iterator[Breach]:
    """One breach for each page that is read although it was left behind."""
    partners: dict[str, tuple[str, ...]] = {}
    for mark in history.marks_of("together"):
        for name in mark["buffers"]:
            partners[name] = (*partners.get(name, ()), *(other for other in mark["buffers"] if other != name))
    if not partners:
        return
    filled: dict[tuple[str, int, int], _Filled] = {}
    arrived: dict[tuple[str, int], _Filled] = {}
    told: set[tuple[str, int]] = set()
    for step in history.steps:
        for buffer, layer, page in _read(step, partners):
            own = filled.get((buffer, layer, page), _NEVER)
            for partner in partners[buffer]:
                moved = arrived.get((partner, page), _NEVER)
                if moved.ordinal > own.ordinal and own[1:] != moved[1:] and (buffer, page) not in told:
                    told.add((buffer, page))
                    yield Breach(LawName.COMPANIONS, step.ordinal, _sentence(step, buffer, page, partner, moved))
        for key, fill in _written(step, history):
            filled[key] = fill
            if fill.tier:
                arrived[key[0], key[2]] = fill


def _read(step: Step, partners: dict[str, tuple[str, ...]]) -> Iterator[tuple[str, int, int]]:
    for touched in step.touched:
        if not touched.is_write and touched.buffer in partners:
            for layer in touched.layers:
                for page in touched.pages:
                    yield touched.buffer, layer, page


def _written(step: Step, history: History) -> Iterator[tuple[tuple[str, int, int], _Filled]]:
    ends = step.ends
    for touched in step.touched:
        if touched.is_write:
            origins = ends[0].pages if ends is not None else repeat(0)
            tier = history.buffers[ends[0].buffer].space if ends is not None else ""
            for page, origin in zip(touched.pages, origins, strict=False):
                for layer in touched.layers:
                    yield (touched.buffer, layer, page), _Filled(step.ordinal, tier, origin)


def _sentence(step: Step, buffer: str, page: int, partner: str, moved: _Filled) -> str:
    return (
        f"{step.label} reads {buffer} page {page}, which was left behind when #{moved.ordinal} filled {partner} page "
        f"{page} from page {moved.page} of {moved.tier}"
    )
