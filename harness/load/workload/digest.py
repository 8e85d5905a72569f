"""One digest of everything that a workload's requests say: two runs with the same one sent the same bytes.

Owns: what belongs to it. Does not own: the digest of a run's outcome (`results/digest`). Pure. Floor 5. Source: ours.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import orjson

from harness.load.workload.planned import PlannedSession


def requests_digest(sessions: Sequence[PlannedSession]) -> str:
    """BLAKE2b over the messages of every request, and each session's tools."""
    state = hashlib.blake2b(digest_size=32)
    known: dict[int, bytes] = {}
    for plan in sessions:
        tools = known.setdefault(id(plan.tools), orjson.dumps(list(plan.tools)))
        state.update(b"%d %d\0%s\0" % (plan.session, len(plan.turns), tools))
        for turn in range(len(plan.turns)):
            state.update(orjson.dumps(list(plan.messages(turn))) + b"\0")
    return state.hexdigest()
