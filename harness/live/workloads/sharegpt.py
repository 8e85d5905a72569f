"""ShareGPT: conversations that people had with a chat model.

Owns: the shape of the file and its oddities. Does not own: turns (`messages.py`). Floor 5.
Source: facts/formats.md section 1: empty answers occur, the first turn may be an answer, roles may be odd.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from harness.live.workloads.entries import Entry, kind_of, read_entries
from harness.live.workloads.messages import conversation
from harness.live.workloads.scripted import ScriptedSession, tokens_in
from harness.load.workload.plan import Message

_ROLES: Final[Mapping[str, str]] = MappingProxyType({
    "human": "user", "user": "user", "gpt": "assistant", "chatgpt": "assistant", "assistant": "assistant",
    "system": "system",
})  # fmt: skip
_KNOWN: Final = ("id", "conversations")
ODD_ROLES: Final = "messages with another role than human, gpt and system"
NO_QUESTION: Final = "conversations without a question"


@dataclass(frozen=True, slots=True)
class ShareGptSource:
    """left_out: counts, while the file is read, what is not used of it."""

    file: Path
    left_out: Counter[str]

    def sessions(self) -> Iterator[ScriptedSession]:
        for number, entry in enumerate(read_entries(self.file)):
            entry.count_unknown(_KNOWN, self.left_out)
            opening, turns = conversation(list(self._messages(entry)), self.left_out)
            if turns:
                yield ScriptedSession(number, turns, opening=opening, opening_tokens=tokens_in(opening))
            else:
                self.left_out[NO_QUESTION] += 1

    def _messages(self, entry: Entry) -> Iterator[Message]:
        """Messages of one role in a row are one: few servers take two questions without an answer between."""
        said = [self._said(entry, at, value) for at, value in enumerate(entry.field("conversations", list))]
        for role, texts in groupby((one for one in said if one is not None), key=lambda one: one[0]):
            yield {"role": role, "content": "\n".join(text for _, text in texts)}

    def _said(self, entry: Entry, at: int, value: Any) -> tuple[str, str] | None:
        sender, text = (value.get("from"), value.get("value")) if isinstance(value, dict) else (None, None)
        if not isinstance(sender, str) or not isinstance(text, str):
            found = kind_of(value) if not isinstance(value, dict) else f"{kind_of(sender)} and {kind_of(text)}"
            raise entry.refuse(f"conversations[{at}] must have 'from' and 'value' as texts, not {found}")
        if sender not in _ROLES:
            self.left_out[ODD_ROLES] += 1
            return None
        return _ROLES[sender], text
