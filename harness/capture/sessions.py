"""How many conversations the recorded requests seem to be.

Owns: the count, from messages alone: clients send no session. Does not own: making a workload of them
(`harness/live/workloads`). Floor 5. Source: ours.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any


class SessionCount:
    """A request whose messages begin with all messages of an earlier one goes on with that conversation.

    A second request that goes on from the same place is a fork, and a session of its own; the same request again is
    a retry.
    """

    def __init__(self) -> None:
        self.sessions = 0
        self._whole: dict[bytes, bool] = {}

    def __repr__(self) -> str:
        return f"SessionCount({self.sessions})"

    def add(self, body: dict[str, Any]) -> None:
        digests = _prefixes(body)
        if not digests or digests[-1] in self._whole:
            return
        parent = next((one for one in reversed(digests[:-1]) if one in self._whole), None)
        if parent is None or self._whole[parent]:
            self.sessions += 1
        if parent is not None:
            self._whole[parent] = True
        self._whole[digests[-1]] = False


def _prefixes(body: dict[str, Any]) -> list[bytes]:
    """A digest of each beginning of the conversation, the whole last."""
    messages = body.get("messages")
    if not isinstance(messages, list):
        messages = [body.get("prompt")] if body.get("prompt") is not None else []
    state = hashlib.sha256(_plain([body.get("model"), body.get("system")]))
    digests = []
    for message in messages:
        state.update(_plain(message))
        digests.append(state.digest())
    return digests


def _plain(value: Any) -> bytes:
    """Of whatever JSON may hold, halves of surrogate pairs and whole numbers of any length too."""
    return json.dumps(value, sort_keys=True).encode()
