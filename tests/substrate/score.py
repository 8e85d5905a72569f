"""A small language for interleavings: `L.copy L.rec:a C.wait:a C.read8`, in host issue order, played on a machine.

Owns: the language and its player. A word is STREAM.OPERATION, streams are single capitals, all on one device. There is
one host pool whose four pages of 10 bytes hold version 1, and one device pool of four pages that were never written.

    copy       load the four pages, 40 ns            save      copy the four pages back to the host, 40 ns
    readN      kernel of N ns that reads all the time writeN=V  kernel of N ns that writes version V at its end
    busyN      kernel of N ns that touches nothing    rec:e     record event e        wait:e  wait for event e

The result is the words that take time, with begin and end, and for a read one sign a page: `+` what was promised,
`-` another version, `/` torn.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from kernels.substrate.contract import Delay, PageView
from kernels.substrate.trace import MemoryTrace
from kernels.substrate.virtual.invariants import check_invariants
from kernels.substrate.virtual.machine import VirtualMachine
from tests.substrate.plain import fill_host, plain_cost, plain_machine, region, write

PAGES = (0, 1, 2, 3)
_WORD = re.compile(r"([A-Z])\.(copy|save|read|write|busy|rec|wait)(\d*)(?:=(\d+))?(?::(\w+))?\Z")


def play(score: str, *, delays: Sequence[Delay] = (), **numbers: float) -> str:
    """Play a score to its end and say what happened, word by word in host issue order."""
    trace = MemoryTrace()
    machine = plain_machine(plain_cost(**numbers), trace=trace, delays=delays)
    signs: dict[str, str] = {}
    begin_ns = _perform(machine, score.split(), signs)
    while (next_ns := machine.next_time_ns()) is not None:
        machine.advance_to(next_ns)
        check_invariants(machine)
    assert not machine.blocked(), machine.blocked()
    heard = []
    for operation in sorted(trace.operations, key=lambda operation: operation.ordinal):
        if operation.label in score.split() and operation.kind in ("copy", "kernel"):
            times = f"{operation.start_ns - begin_ns}-{operation.end_ns - begin_ns}"
            heard.append(" ".join(filter(None, [operation.label, times, signs.get(operation.label, "")])))
    return ", ".join(heard)


def _perform(machine: VirtualMachine, words: list[str], signs: dict[str, str]) -> int:
    host = machine.buffer("host", space="host", layer_count=1, page_count=4, page_bytes=10)
    fill_host(machine, host, 1, machine.run)
    device = machine.buffer("device", space="device:0", layer_count=1, page_count=4, page_bytes=10)
    there, here = region(host, PAGES), region(device, PAGES)
    streams = {name: machine.stream(name, device=0) for name in sorted({word[0] for word in words})}
    events = {word.partition(":")[2]: machine.event(word.partition(":")[2]) for word in words if ":" in word}
    for word in words:
        match = _WORD.match(word)
        assert match is not None, f"'{word}' is no word of this language"
        name, verb, number, version, event = match.groups()
        stream, duration_ns = streams[name], int(number or 0)
        if verb == "copy":
            stream.copy(there, here, point="h2d.index_k", label=word)
        elif verb == "save":
            stream.copy(here, there, point="d2h.backup", label=word)
        elif verb == "read":

            def look(views: Sequence[PageView], word: str = word) -> None:
                signs[word] = sign(views[0])

            stream.launch(
                word, duration_ns=duration_ns, read_ns=duration_ns, point="compute.indexer", reads=[here], body=look
            )
        elif verb == "write":
            stream.launch(
                word, duration_ns=duration_ns, point="compute.layer", writes=[write(device, PAGES, int(version))]
            )
        elif verb == "busy":
            stream.launch(word, duration_ns=duration_ns, point="compute.layer")
        elif verb == "rec":
            stream.record(events[event])
        else:
            stream.wait(events[event])
    return machine.now_ns


def sign(view: PageView) -> str:
    signs = []
    for wanted, head, tail in zip(view.wanted.ravel(), view.head.ravel(), view.tail.ravel(), strict=True):
        signs.append("/" if head != tail else "+" if head == wanted else "-")
    return "".join(signs)
