"""From the words of a command to a workload from a file that fits every server it is meant for.

Owns: which options go with it, and what is said of it before anything is sent. Does not own: the words (`formats.py`).
Floor 5. Source: ours.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from harness.config.schema import WorkloadSpec
from harness.live.arrivals import LoadShape
from harness.live.rounds import Rounds, RoundSource
from harness.live.workloads.formats import BUILTIN, FileWorkload, file_workload
from harness.live.workloads.rounds import FileRounds
from harness.live.workloads.use import notes_of
from kernels.engine.shared import SharedModel
from kernels.errors import ConfigError


def files_of(arguments: Mapping[str, Any]) -> FileWorkload | None:
    """None for a workload that the built-in planner makes. Raises: ConfigError."""
    files = file_workload(arguments["workload"], plant=arguments["plant"], block_tokens=arguments["block_tokens"])
    if files is None:
        return None
    if not files.path.exists():
        raise ConfigError("there is no such file", key="--workload", value=files.words, file=files.path)
    if arguments["prompt_tokens"] is not None:
        what = "--prompt-tokens makes our own prompts shorter; those of a file are as long as they are"
        raise ConfigError(what, key="--prompt-tokens")
    return files


def planner_source(files: FileWorkload | None, text: str) -> str:
    """What the built-in planner is told: a file's sessions need only its numbers."""
    return text if files is None else BUILTIN


def workload_view(files: FileWorkload | None, spec: Mapping[str, Any], load: LoadShape) -> dict[str, Any]:
    """The workload as a run's configuration names it."""
    if files is None:
        return dict(spec)
    told = {"source": files.words, "sessions": spec["sessions"], "plant": files.plant}
    # What `bundle` needs to make the same requests again.
    further = {"block_tokens": files.block_tokens, "room_tokens": files.room_tokens, "first": files.first or None,
               "is_once": _is_once(load) or None}  # fmt: skip
    return told | {name: value for name, value in further.items() if value is not None}


def rounds_of(
    files: FileWorkload | None, spec: WorkloadSpec, seed: int, load: LoadShape, max_tokens: int
) -> RoundSource:
    """Raises: ConfigError for a file that cannot be sent."""
    count_tokens = SharedModel().reader.count_tokens
    if files is None:
        return Rounds(spec, seed, count_tokens)
    return FileRounds(
        files, spec, seed, count_tokens, max_tokens=max_tokens, keeps_times=load.kind == "trace",
        keeps_waits=load.pattern is None, is_once=_is_once(load),
    )  # fmt: skip


def _is_once(load: LoadShape) -> bool:
    return load.kind == "trace" or load.pattern is not None


def fitted(
    files: FileWorkload, rooms: Sequence[int | None], spec: WorkloadSpec, seed: int, load: LoadShape, max_tokens: int
) -> tuple[FileWorkload, list[str]]:
    """The workload for the smallest of the servers, since all arms get the same, and what of it is left out.

    Effect: reads the first round. Raises: ConfigError for a file that cannot be read, or of which nothing fits.
    """
    files = replace(files, room_tokens=min((room for room in rooms if room is not None), default=None))
    first = rounds_of(files, spec, seed, load, max_tokens).build(0)
    return files, notes_of(files, first.left_out)
