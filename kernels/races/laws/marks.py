"""Marks: what a program says of itself, beside what it does: owners, companions, rows, keys, decisions, failures.

Owns: the notation, writing it on a machine, reading it from a trace. Does not own: what must follow from it (the laws).
Floor 2b. Source: the idea is NVTX's, text markers in the stream of events.

A mark is an operation that touches nothing, on a stream of its own, whose label is `mark KIND {facts}`. So every
machine, every trace format and every picture carries it, and it orders nothing. A program from elsewhere writes such
rows into its trace by itself (docs/zoo.md lists the kinds).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from kernels.errors import KVRaceError
from kernels.substrate.contract import Buffer, Machine, Region

PREFIX = "mark "

Check = Callable[[object], bool]


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_number(value: object) -> bool:
    return isinstance(value, int)


def _are_texts(value: object) -> bool:
    return isinstance(value, list) and bool(value) and all(map(_is_text, value))


def _are_numbers(value: object) -> bool:
    return isinstance(value, list) and all(_is_number(one) and one >= 0 for one in value)


def _is_object(value: object) -> bool:
    return isinstance(value, dict)


_RANGE: Mapping[str, Check] = {"buffer": _is_text, "layers": _are_numbers, "pages": _are_numbers}

FACTS: Mapping[str, Mapping[str, Check]] = {
    "together": {"buffers": _are_texts},
    "rows": {"buffer": _is_text, "parts": _are_texts},
    "placed": {"buffer": _is_text, "address": _is_number},
    "claim": {"owner": _is_text, **_RANGE, "shared": _is_number},
    "free": {"owner": _is_text, **_RANGE},
    "acts": {"owner": _is_text},
    "opened": {"name": _is_text},
    "closed": {"name": _is_text},
    "put": {"key": _is_text, "facts": _is_object},
    "got": {"key": _is_text, "facts": _is_object},
    "decided": {"rank": _is_number, "step": _is_number, "what": _is_text},
    "failed": {"ticket": _is_text},
    "loaded": {"ticket": _is_text},
}
"""Kind -> the facts that such a mark must carry, and what they must be. `put` may carry a range too."""


class NotAMark(KVRaceError):
    """A label begins like a mark and is none, so the laws cannot be judged."""

    exit_code = 4

    def __init__(self, ordinal: int, label: str, why: str) -> None:
        self.ordinal = ordinal
        self.label = label
        self.why = why
        super().__init__(f"operation {ordinal} is no mark: {why}; allowed: {PREFIX}KIND {{...}}, got '{label[:80]}'")


@dataclass(frozen=True, slots=True)
class Mark:
    """One mark, as read from a trace. ordinal: its place in host issue order."""

    kind: str
    ordinal: int
    thread: str
    facts: Mapping[str, Any]

    @property
    def buffers(self) -> Sequence[str]:
        """The buffers that it speaks of."""
        one = self.facts.get("buffer")
        return [one] if one is not None else self.facts.get("buffers", [])

    def __getitem__(self, name: str) -> Any:
        return self.facts[name]


def is_mark(label: str) -> bool:
    return label.startswith(PREFIX)


def parse_mark(label: str, ordinal: int, thread: str) -> Mark:
    """Read a label. Raises: NotAMark."""
    kind, _, text = label[len(PREFIX) :].partition(" ")
    needed = FACTS.get(kind)
    if needed is None:
        raise NotAMark(ordinal, label, f"unknown kind '{kind}', known: {', '.join(FACTS)}")
    try:
        facts = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise NotAMark(ordinal, label, f"its facts are no JSON ({error})") from None
    if not isinstance(facts, dict):
        raise NotAMark(ordinal, label, "its facts are no JSON object")
    if kind == "put" and "buffer" in facts:
        needed = {**needed, **_RANGE}
    odd = [name for name, is_right in needed.items() if name not in facts or not is_right(facts[name])]
    if odd:
        raise NotAMark(ordinal, label, f"'{kind}' needs {', '.join(odd)}, or has another type there")
    return Mark(kind, ordinal, thread, facts)


class Marker:
    """Writes marks on a machine, for one host thread: threads that mark need one each, with a name of its own."""

    def __init__(self, machine: Machine, name: str = "marks") -> None:
        self._stream = machine.stream(name, device=0)

    def __repr__(self) -> str:
        return f"Marker({self._stream.name})"

    def together(self, *buffers: Buffer) -> None:
        """These pools are companions: a page's number means the same page in each, and who moves one moves all."""
        self._say("together", buffers=[buffer.name for buffer in buffers])

    def rows(self, buffer: Buffer, *parts: str) -> None:
        """The buffer's pages are the parts of rows, so many to a row, in this order."""
        self._say("rows", buffer=buffer.name, parts=parts)

    def placed(self, buffer: Buffer, address: int) -> None:
        """The buffer begins at this address of its memory space. Two that overlap share bytes."""
        self._say("placed", buffer=buffer.name, address=address)

    def claim(self, owner: str, region: Region, *, shared: bool = False) -> None:
        """From here on the range is this owner's alone; of a shared one others may read."""
        self._say("claim", owner=owner, **_range(region), shared=shared)

    def free(self, owner: str, region: Region) -> None:
        """The range goes back to whoever hands it out."""
        self._say("free", owner=owner, **_range(region))

    def acts(self, owner: str) -> None:
        """What this thread issues from here on is done for this owner; nobody's where it is empty."""
        self._say("acts", owner=owner)

    def opened(self, name: str) -> None:
        """A request begins; it has to end."""
        self._say("opened", name=name)

    def closed(self, name: str) -> None:
        self._say("closed", name=name)

    def put(self, key: str, region: Region | None = None, **facts: str | int) -> None:
        """What these facts describe can be found under this key from here on, in this range where one is given."""
        self._say("put", key=key, facts=facts, **(_range(region) if region is not None else {}))

    def got(self, key: str, **facts: str | int) -> None:
        """Somebody looked for what these facts describe, under this key."""
        self._say("got", key=key, facts=facts)

    def decided(self, rank: int, step: int, what: str) -> None:
        """A rank decided something that all ranks must decide alike, in the same order."""
        self._say("decided", rank=rank, step=step, what=what)

    def failed(self, ticket: str) -> None:
        """A transfer failed."""
        self._say("failed", ticket=ticket)

    def loaded(self, ticket: str) -> None:
        """A transfer is announced as done."""
        self._say("loaded", ticket=ticket)

    def _say(self, kind: str, **facts: object) -> None:
        say(self._stream, kind, **facts)


def say(stream: Any, kind: str, **facts: object) -> None:
    """Put one mark on a stream."""
    stream.launch(f"{PREFIX}{kind} {orjson.dumps(facts).decode()}", duration_ns=0, point="mark")


def _range(region: Region) -> dict[str, object]:
    pages: Sequence[int] = region.pages.tolist()
    return {"buffer": region.buffer.name, "layers": list(region.layers), "pages": list(pages)}
