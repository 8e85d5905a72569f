"""Which recorded request goes on from which: clients send no session, and their whole history each time.

Owns: the rule, from the requests' own words. Does not own: making a workload of them (`harness/live/workloads`), counts
on a screen. Pure. Floor 5. Source: ours.

A conversation is what a server's prefix cache would find again: the same model, tools and system text, and messages
that begin with all those of an earlier request. A second request that goes on from the same place is a fork, and a
conversation of its own; the very same request again is a retry.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any


@dataclass(frozen=True, slots=True)
class Place:
    """session, turn: of the request, from 0 in the order in which requests come. after: the (session, turn) that it
    goes on from; None where it begins something. known: so many of its messages were sent there already."""

    session: int
    turn: int
    after: tuple[int, int] | None
    known: int

    @property
    def is_fork(self) -> bool:
        return self.after is not None and self.after[0] != self.session


class Conversations:
    """Told of each request, in the order in which they were sent."""

    def __init__(self) -> None:
        self._ends: dict[bytes, tuple[int, int]] = {}
        self._lengths: list[int] = []

    def __repr__(self) -> str:
        return f"Conversations({self.count})"

    @property
    def count(self) -> int:
        """Of conversations, forks among them."""
        return len(self._lengths)

    def add(self, body: Mapping[str, Any]) -> Place | None:
        """None for a request that was only sent again, and for one that says nothing."""
        digests = _beginnings(body)
        if not digests or digests[-1] in self._ends:
            return None
        known = next((count for count in range(len(digests) - 1, 0, -1) if digests[count - 1] in self._ends), 0)
        after = self._ends[digests[known - 1]] if known else None
        if after is not None and after[1] + 1 == self._lengths[after[0]]:
            session = after[0]
        else:
            session = len(self._lengths)
            self._lengths.append(0)
        turn = self._lengths[session]
        self._lengths[session] += 1
        self._ends[digests[-1]] = (session, turn)
        return Place(session, turn, after, known)


def _beginnings(body: Mapping[str, Any]) -> list[bytes]:
    """A digest of what stands in front of all messages with the first of them, the first two, and so on."""
    messages = body.get("messages")
    if not isinstance(messages, list):
        messages = [body["prompt"]] if body.get("prompt") is not None else []
    front = [body.get("model"), body.get("system"), body.get("tools") or []]
    state = blake2b(_plain(front), digest_size=16)
    digests = []
    for message in messages:
        state.update(_plain(message))
        digests.append(state.digest())
    return digests


def _plain(value: Any) -> bytes:
    """Of whatever JSON may hold, halves of surrogate pairs and whole numbers of any length too."""
    return json.dumps(value, sort_keys=True).encode() + b"\0"
