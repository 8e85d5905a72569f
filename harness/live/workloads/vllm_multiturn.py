"""vLLM's multi-turn benchmark: conversations as a list, or a description from which to make them.

Owns: telling the two apart, and the list's shapes. Does not own: the description (`vllm_generator.py`), turns
(`messages.py`). Floor 5. Source: facts/formats.md section 1; vLLM's benchmarks/multi_turn README.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from harness.live.workloads.entries import KEY, read_entries, read_object
from harness.live.workloads.formats import SessionSource
from harness.live.workloads.messages import checked_messages, conversation
from harness.live.workloads.scripted import CountTokens, ScriptedSession, tokens_in
from harness.live.workloads.vllm_generator import FILETYPE, GENERATE, VllmGenerator
from kernels.errors import ConfigError

_KNOWN: Final = ("id", "messages")
NO_QUESTION: Final = "conversations without a question"


class VllmConversations:
    """A list of {id, messages}, or of lists of messages."""

    def __init__(self, file: Path, left_out: Counter[str]) -> None:
        self._file = file
        self._left_out = left_out

    def __repr__(self) -> str:
        return f"VllmConversations({self._file})"

    def sessions(self) -> Iterator[ScriptedSession]:
        for number, entry in enumerate(read_entries(self._file)):
            entry.count_unknown(_KNOWN, self._left_out)
            messages = checked_messages(entry, entry.field("messages", list))
            opening, turns = conversation(messages, self._left_out)
            if turns:
                yield ScriptedSession(number, turns, opening=opening, opening_tokens=tokens_in(opening))
            else:
                self._left_out[NO_QUESTION] += 1


def vllm_multiturn(file: Path, seed: int, count_tokens: CountTokens, left_out: Counter[str]) -> SessionSource:
    """Raises: ConfigError for a file that is neither."""
    described = read_object(file)
    if described is None:
        return VllmConversations(file, left_out)
    kind = described.fields.get(FILETYPE)
    if kind != GENERATE:
        what = f"an object with '{FILETYPE}' = '{kind}' is no description of conversations"
        raise ConfigError(what, key=KEY, value=str(kind), allowed=(GENERATE,), file=file)
    return VllmGenerator(described, seed, count_tokens, left_out)
