"""Which workloads there are, and the words that name them.

Owns: `--workload KIND:PATH`, and which plants belong to which kind. Does not own: reading any of them. Floor 5.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Final, Protocol

from harness.live.workloads.entries import KEY
from harness.live.workloads.scripted import ScriptedSession
from kernels.errors import ConfigError

BUILTIN: Final = "builtin"
BFCL: Final = "bfcl"
PLANT: Final = "--plant"
CALL: Final = "call"
"""A call in the text, asked for at its end: its answer is known to the letter."""
SECRET: Final = "secret"
"""A word of its own in each session's system message: in another session's reply it proves cross-talk."""
NONE: Final = "none"
PLANTS: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType({
    "mooncake": (CALL, NONE),
    "sharegpt": (SECRET, NONE),
    "vllm-multiturn": (SECRET, NONE),
    "openai-messages": (NONE, SECRET),
    "recorded": (NONE, SECRET),
})  # fmt: skip
"""What may be planted, the default first. Traces have no text, so all of theirs is ours. Conversations get a word: it
costs a line and proves the most. Requests of a real application are sent as they are: a word in their system message
would take its shared prefix apart, and that is what such a run is about."""
FORMS: Final = ("builtin", "bfcl:DIR", *(f"{kind}:{'DIR' if kind == 'recorded' else 'FILE'}" for kind in PLANTS))


@dataclass(frozen=True, slots=True)
class FileWorkload:
    """A workload from a file.

    block_tokens: of a trace; None: what is usual for it. plant: what is put into the text. room_tokens: what servers
    take, prompt and reply; None where nobody knows. first: rounds to pass over, so that blocks of time have sessions
    of their own.
    """

    kind: str
    path: Path
    plant: str
    block_tokens: int | None = None
    room_tokens: int | None = None
    first: int = 0

    @property
    def is_plain_text(self) -> bool:
        """No request of it offers tools."""
        return self.kind in ("sharegpt", "vllm-multiturn")

    @property
    def words(self) -> str:
        return f"{self.kind}:{self.path}"


class SessionSource(Protocol):
    """One file's sessions, numbered as they stand in it."""

    def sessions(self) -> Iterator[ScriptedSession]:
        """All of them, read as they are asked for. Raises: ConfigError at the first place that is broken."""


def file_workload(text: str, *, plant: str | None, block_tokens: int | None) -> FileWorkload | None:
    """None for a workload that the built-in planner makes. Raises: ConfigError for what no workload is called."""
    kind, colon, path = text.partition(":")
    if text == BUILTIN or (kind == BFCL and path):
        for option, value in ((PLANT, plant), ("--block-tokens", block_tokens)):
            if value is not None:
                raise ConfigError(f"{option} belongs to a workload from a file, not to '{text}'", key=option)
        return None
    if kind not in PLANTS or not colon or not path:
        raise ConfigError(f"--workload '{text}' is none that is known", key=KEY, value=kind, allowed=FORMS)
    if plant is not None and plant not in PLANTS[kind]:
        what = f"nothing like '{plant}' can be planted in {kind}"
        raise ConfigError(what, key=PLANT, value=plant, allowed=PLANTS[kind])
    if block_tokens is not None and kind != "mooncake":
        raise ConfigError("--block-tokens belongs to --workload mooncake:FILE", key="--block-tokens")
    return FileWorkload(kind, Path(path), plant or PLANTS[kind][0], block_tokens)
