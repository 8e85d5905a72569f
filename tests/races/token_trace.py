"""A tiny language for traces: one token a row, in host issue order.

    L>k7:0-3    stream L writes buffer k, layer 7, pages 0 to 3        C<k7    stream C reads layer 7, page 0
    L!e         stream L records event e                              C?e     stream C waits for event e
    t~e         thread t waits until e is over                        t=e     thread t asks and is told yes    t#e  no
    t^u         thread t wakes u, which was parked                    u@C<k7  the same, issued by thread u (else by h)

Owns: the language. Does not judge. Floor: tests. Source: elle's character histories (facts/style.md 2.5).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from kernels.substrate.contract import Region
from kernels.substrate.trace import HostKind, HostStep, MemoryTrace, Operation

_TOKEN = re.compile(r"(?:(?P<by>\w+)@)?(?P<who>[A-Za-z]+)(?P<act>[<>!?~=#^])(?P<what>[\w:-]+)")
_PLACE = re.compile(r"(?P<buffer>[A-Za-z]+)(?P<layer>\d*)(?::(?P<begin>\d+)(?:-(?P<end>\d+))?)?")

LAYER_COUNT = 10
PAGE_COUNT = 8


@dataclass(slots=True)
class Pool:
    """A buffer that is only a name and a size."""

    name: str
    space: str = "device:0"
    layer_count: int = LAYER_COUNT
    page_count: int = PAGE_COUNT
    page_bytes: int = 64


def token_trace(text: str) -> MemoryTrace:
    """The trace of a text; every call takes 10 ns of host time."""
    trace = MemoryTrace()
    pools: dict[str, Pool] = {}
    generations: dict[str, int] = {}
    wakes: dict[str, int] = {}
    for ordinal, token in enumerate(text.replace("|", " ").split(), start=1):
        match = _TOKEN.fullmatch(token)
        assert match is not None, f"no token: {token}"
        who, act, what = match["who"], match["act"], match["what"]
        now_ns = 10 * ordinal
        if act in "~=#":
            kind: HostKind = "until" if act == "~" else "query"
            generation = generations.get(what, 0)
            trace.host(
                HostStep(kind, who, now_ns, event=what, generation=generation, answer=act != "#", issued=ordinal)
            )
            continue
        if act == "^":
            wakes[what] = number = wakes.get(what, 0) + 1
            trace.host(HostStep("wake", who, now_ns, other=what, wakes=(number,), issued=ordinal))
            trace.host(HostStep("park", what, now_ns + 1, wakes=(number,), issued=ordinal))
            continue
        operation = Operation(ordinal, "kernel", who, match["by"] or "h", token, now_ns, start_ns=now_ns, end_ns=now_ns)
        if act == "!":
            generations[what] = generations.get(what, 0) + 1
            operation.kind, operation.event, operation.generation = "record", what, generations[what]
        elif act == "?":
            operation.kind, operation.event, operation.generation = "wait", what, generations.get(what, 0)
        else:
            operation.accesses = ((act == ">", _region(what, pools, trace)),)
        trace.operation(operation)
    return trace


def _region(what: str, pools: dict[str, Pool], trace: MemoryTrace) -> Region:
    match = _PLACE.fullmatch(what)
    assert match is not None, f"no place: {what}"
    pool = pools.get(match["buffer"])
    if pool is None:
        pool = pools[match["buffer"]] = Pool(match["buffer"])
        trace.buffer(pool)
    begin = int(match["begin"] or 0)
    pages = np.arange(begin, int(match["end"] or begin) + 1, dtype=np.int64)
    layers = (int(match["layer"]),) if match["layer"] else tuple(range(LAYER_COUNT))
    return Region(pool, layers, pages)
