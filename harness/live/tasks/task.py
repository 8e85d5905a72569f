"""The tasks, hardest first.

Owns: their names and words. Does not own: how they are asked (`planning`), who masters them (`ladder`). Floor 5.
Source: ours; facts/formats.md section 2 (a secret word of each session, to be said again).
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Final


class Task(StrEnum):
    CALL = "call"
    NAMED_CALL = "named-call"
    WORD = "word"
    REPEAT = "repeat"
    NONE = "none"

    @property
    def takes_tools(self) -> bool:
        return self in (Task.CALL, Task.NAMED_CALL)

    @property
    def words(self) -> str:
        return WORDS[self]


WORDS: Final[Mapping[Task, str]] = MappingProxyType(
    {
        Task.CALL: "recall a call from the notes",
        Task.NAMED_CALL: "recall a call from the notes, its tool named by tool_choice",
        Task.WORD: "say the secret word of the notes",
        Task.REPEAT: "repeat a word of the question",
        Task.NONE: "say anything: no answer is known, and only foreign secrets, salad, loops and markup can count",
    }
)
AUTO: Final = "auto"
CHOICES: Final = (AUTO, *map(str, Task))
