"""One digest of a run: equal for two runs of one seed, whatever the machine's load.

Owns: which fields belong to the outcome. Left out are the raw text and the ids of calls, which a server may draw
freely, and all times unless they are virtual. Floor 3. Source: ours.
"""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b

import msgspec

from results.lines import encode_line
from results.records import TurnRecord

DIGEST_BYTES = 16

_FREE = ("raw",)
_TIMES = ("scheduled_ns", "sent_ns", "first_token_ns", "finished_ns")


def digest_of(turns: Iterable[TurnRecord], trace_digest: str, *, times_are_virtual: bool) -> str:
    """Hex digest over the turns in (session, turn) order, and over the digest of the machine's trace.

    Args:
        trace_digest: of the machine's operations, made by the caller; empty where there is none.
    """
    left_out = _FREE if times_are_virtual else _FREE + _TIMES
    state = blake2b(digest_size=DIGEST_BYTES)
    for turn in sorted(turns, key=lambda turn: turn.key):
        fields = msgspec.to_builtins(turn)
        for name in left_out:
            del fields[name]
        # These came later; runs without any keep the digest that they had.
        if not fields["reasoning"]:
            del fields["reasoning"]
        for name in ("load", "max_tokens", "expected_word"):
            if fields[name] is None:
                del fields[name]
        for call in fields["tool_calls"]:
            del call["id"]
        state.update(encode_line(fields))
    state.update(b"trace " + trace_digest.encode())
    return state.hexdigest()
