"""Reading a run folder back: what is whole is read, what is not is named.

Owns: `open_run`, and the checks of a stored run against its own manifest. Nothing is dropped in silence: each line
that is torn, damaged, doubled or missing is a fault of the run. Floor 3. Source: ours.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from results import layout
from results.errors import NotARun
from results.findings import Finding, Judgement
from results.lines import LineFault, read_lines
from results.records import SCHEMA, RunManifest, SessionRecord, ToolSchema, TurnRecord
from results.schema_version import schema_fault
from results.store import RawReply


@dataclass(frozen=True, slots=True)
class Run:
    """A stored run. Turns and judgements stand in the order in which they were stored; a turn that was stored twice is
    there once, as it was stored first. aside: turns that count in no figure (`LoadMark`); only these are missing in
    `turns` and `judgements`."""

    path: Path
    manifest: RunManifest
    tools: tuple[ToolSchema, ...]
    sessions: tuple[SessionRecord, ...]
    turns: tuple[TurnRecord, ...]
    judgements: tuple[Judgement, ...]
    faults: tuple[LineFault, ...]
    aside: tuple[TurnRecord, ...] = ()

    @property
    def is_partial(self) -> bool:
        """The run was interrupted, or what is stored of it is not all that was written."""
        return self.manifest.partial or bool(self.faults)

    @property
    def findings(self) -> list[Finding]:
        return [finding for judgement in self.judgements for finding in judgement.findings]


def open_run(path: Path) -> Run:
    """Read a run folder.

    Raises: NotARun where there is none, NewerRun where a newer version of this tool wrote it.
    """
    manifest = _manifest(path)
    tools, tool_faults = read_lines(path / layout.TOOLS, ToolSchema)
    sessions, session_faults = read_lines(path / layout.SESSIONS, SessionRecord)
    turns, turn_faults = read_lines(path / layout.TURNS, TurnRecord)
    judgements, finding_faults = read_lines(path / layout.FINDINGS, Judgement)
    faults = [*tool_faults, *session_faults, *turn_faults, *finding_faults]
    faults += _doubled(layout.TURNS, [turn.key for turn in turns])
    faults += _doubled(layout.FINDINGS, [judgement.key for judgement in judgements])
    faults += _missing(manifest, sessions, turns, judgements)
    once = {turn.key: turn for turn in reversed(turns)}
    kept = tuple(turn for turn in turns if once[turn.key] is turn)
    aside = {turn.key: turn for turn in kept if turn.is_aside}
    return Run(
        path=path,
        manifest=manifest,
        tools=tuple(tools),
        sessions=tuple(sessions),
        turns=tuple(turn for turn in kept if turn.key not in aside),
        judgements=tuple(judgement for judgement in judgements if judgement.key not in aside),
        faults=tuple(faults),
        aside=tuple(aside.values()),
    )


def read_raw(run: Run) -> tuple[dict[tuple[int, int], str], list[LineFault]]:
    """The raw text of each reply by (session, turn). Read apart, since it is most of a run's bytes."""
    replies, faults = read_lines(run.path / layout.RAW, RawReply)
    return {(reply.session, reply.turn): reply.raw for reply in replies}, faults


def _manifest(path: Path) -> RunManifest:
    if not path.is_dir():
        raise NotARun(path, "it is a file" if path.exists() else "there is no such folder")
    try:
        text = (path / layout.MANIFEST).read_bytes()
    except OSError:
        raise NotARun(path, f"it holds no {layout.MANIFEST}") from None
    fault = schema_fault(text, SCHEMA, path / layout.MANIFEST)
    if fault is not None:
        raise NotARun(path, fault)
    try:
        return msgspec.json.decode(text, type=RunManifest)
    except msgspec.MsgspecError as error:
        raise NotARun(path, f"its {layout.MANIFEST} cannot be read ({error})") from None


def _doubled(file: str, keys: Sequence[tuple[int, int]]) -> list[LineFault]:
    return [
        LineFault(file, keys.index(key) + 1, f"session {key[0]} turn {key[1]} is stored {times} times")
        for key, times in Counter(keys).items()
        if times > 1
    ]


def _missing(
    manifest: RunManifest,
    sessions: Sequence[SessionRecord],
    turns: Sequence[TurnRecord],
    judgements: Sequence[Judgement],
) -> list[LineFault]:
    faults = []
    stored = {turn.key for turn in turns}
    judged = {judgement.key for judgement in judgements}
    if stored - judged:
        reason = f"{len(stored - judged)} turns have no judgement"
        faults.append(LineFault(layout.FINDINGS, len(judgements) + 1, reason))
    if judged - stored:
        reason = f"{len(judged - stored)} judged turns are missing"
        faults.append(LineFault(layout.TURNS, len(turns) + 1, reason))
    if manifest.measured is not None and manifest.measured.turn_count != len(turns):
        reason = f"the manifest counts {manifest.measured.turn_count} turns, {len(turns)} could be read"
        faults.append(LineFault(layout.TURNS, len(turns) + 1, reason))
    if manifest.session_count != len(sessions):
        reason = f"the manifest counts {manifest.session_count} sessions, {len(sessions)} could be read"
        faults.append(LineFault(layout.SESSIONS, len(sessions) + 1, reason))
    if not manifest.partial:
        planned = {(session.session, turn) for session in sessions for turn in range(session.turn_count)}
        if planned - stored:
            first = min(planned - stored)
            reason = f"{len(planned - stored)} planned turns are missing (first: session {first[0]} turn {first[1]})"
            faults.append(LineFault(layout.TURNS, len(turns) + 1, reason))
    return faults
