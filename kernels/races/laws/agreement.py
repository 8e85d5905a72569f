"""The laws of agreement: ranks decide alike, what failed is not announced as done, every request ends.

Owns: the three laws. Needs: `decided`; `failed` and `loaded`; `opened` and `closed`. Floor 2b. Source: facts/bugs.md
classes 13 (RANK-SPLIT) and 14 (FAIL-AS-DONE), symptom S13 (a request that waits for ever).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest

from kernels.races.laws.breach import Breach, LawName
from kernels.races.laws.history import History
from kernels.races.laws.marks import Mark


def ranks(history: History) -> Iterator[Breach]:
    """The first decision in which two ranks differ, if any: what comes behind it follows from it."""
    by_rank: dict[int, list[Mark]] = {}
    for mark in history.marks_of("decided"):
        by_rank.setdefault(int(mark["rank"]), []).append(mark)
    order = sorted(by_rank)
    for decisions in zip_longest(*(by_rank[rank] for rank in order)):
        said = [None if one is None else (one["step"], one["what"]) for one in decisions]
        if len(set(said)) > 1:
            words = [
                f"rank {rank} {'decides no more' if one is None else f'at step {one[0]}: {one[1]}'}"
                for rank, one in zip(order, said, strict=True)
            ]
            where = max(one.ordinal for one in decisions if one is not None)
            yield Breach(LawName.RANKS, where, "; ".join(words))
            return


def failures(history: History) -> Iterator[Breach]:
    """One breach for each failed transfer that is announced as done."""
    failed: dict[str, int] = {}
    for mark in history.marks_of("failed", "loaded"):
        ticket = str(mark["ticket"])
        if mark.kind == "failed":
            failed[ticket] = mark.ordinal
        elif ticket in failed:
            yield Breach(
                LawName.FAILURES, mark.ordinal, f"{ticket} is announced as done; it failed at #{failed[ticket]}"
            )


def endings(history: History) -> Iterator[Breach]:
    """One breach for each request that never ends."""
    left: dict[str, int] = {}
    for mark in history.marks_of("opened", "closed"):
        if mark.kind == "opened":
            left[mark["name"]] = mark.ordinal
        else:
            left.pop(mark["name"], None)
    for name, ordinal in left.items():
        yield Breach(LawName.ENDINGS, ordinal, f"request {name} begins and never ends")
