"""Hanging up on the client's own protocol: the one case in which an answer is read while it still comes.

Owns: what of an answer that is to be left has come. Does not own: closing (`connection.py`). Floor 5. Source: ours.
"""

from __future__ import annotations

from harness.transport.hang_up import HangUp
from harness.transport.reply import ReplyBuilder


class EarlyLeave:
    """One exchange's. Its reading is apart from the reply's, which is put together at the end as always."""

    def __init__(self, policy: HangUp) -> None:
        self.policy = policy
        self._builder = ReplyBuilder(status=None, keep_raw=False)

    def __repr__(self) -> str:
        return f"EarlyLeave({self.policy}, {self._builder.text_count} pieces)"

    @property
    def has_text(self) -> bool:
        return self._builder.text_count > 0

    def is_due(self, body: bytes, now_ns: int) -> bool:
        """Whether these bytes of the body bring enough text to go."""
        self._builder.feed(body, now_ns=now_ns)
        return self.policy.pieces is not None and self._builder.text_count >= self.policy.pieces
