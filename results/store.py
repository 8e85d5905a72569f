"""Writing a run folder: one line a turn while it runs, tables and a closed manifest when it ends.

Owns: the order of writes, so that a run that dies at any moment reads back as a whole part of itself, marked partial.
Does not own: reading (`reader`), tables (`parquet`), the clock: every stamp comes from the caller.
Floor 3. Source: ours.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType

import msgspec

from results import layout, parquet
from results.findings import Judgement
from results.lines import LineFile, encode_line, without_raw
from results.records import Measured, RunManifest, SessionRecord, ToolSchema, TurnRecord


@dataclass(frozen=True, slots=True)
class RawReply:
    """The raw text of one reply's stream, kept beside the parsed reply: parser or engine?"""

    session: int
    turn: int
    request_id: str
    raw: str


class RunWriter:
    """One run folder, open for writing. Used as a context it leaves the run partial unless `close` was called."""

    def __init__(self, path: Path, manifest: RunManifest) -> None:
        self.path = path
        self.manifest = manifest
        self._raw = LineFile(path / layout.RAW)
        self._turns = LineFile(path / layout.TURNS)
        self._findings = LineFile(path / layout.FINDINGS)
        self._stored_turns: list[TurnRecord] = []
        self._stored_judgements: list[Judgement] = []
        self._is_closed = False

    def __repr__(self) -> str:
        state = "closed" if self._is_closed else "open"
        return f"RunWriter({self.path.name}, {len(self._stored_turns)} turns, {state})"

    def __enter__(self) -> RunWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.abandon()

    def append(self, turn: TurnRecord, judgement: Judgement) -> None:
        """Store a judged turn.

        Effect: writes the raw text first, the turn second, its judgement last. So a turn that reads back has its
        raw text, and a judgement that reads back has its turn.
        Raises: StorageProblem; nothing half-written stays behind, and the run stays partial.
        """
        assert turn.key == judgement.key, (turn.key, judgement.key)
        if turn.raw is not None:
            self._raw.append(RawReply(turn.session, turn.turn, turn.request_id, turn.raw))
            turn = without_raw(turn)
        self._turns.append(turn)
        self._stored_turns.append(turn)
        self._findings.append(judgement)
        self._stored_judgements.append(judgement)

    def close(
        self, *, finished: str, measured: Measured, summary: Mapping[str, object], partial: bool = False
    ) -> RunManifest:
        """Write the tables and the summary, then the manifest, last and in one step.

        Effect: `partial` becomes what the caller says (true for a run that was interrupted but tidied up), and
        only after everything else is on the disk. A crash before that leaves it true.
        """
        assert measured.turn_count == len(self._stored_turns), (measured.turn_count, len(self._stored_turns))
        for lines in (self._raw, self._turns, self._findings):
            lines.close(sync=True)
        turns = parquet.turn_table(self._stored_turns, self._stored_judgements)
        findings = parquet.finding_table(self._stored_judgements)
        layout.replace_file(self.path / layout.TURNS_TABLE, lambda path: parquet.write_table(turns, path))
        layout.replace_file(self.path / layout.FINDINGS_TABLE, lambda path: parquet.write_table(findings, path))
        _replace_json(self.path / layout.SUMMARY, dict(summary))
        self.manifest = replace(self.manifest, finished=finished, partial=partial, measured=measured)
        _replace_json(self.path / layout.MANIFEST, self.manifest)
        self._is_closed = True
        return self.manifest

    def abandon(self) -> None:
        """Close the files and leave the run as it is: partial. Does nothing after `close`."""
        for lines in (self._raw, self._turns, self._findings):
            lines.close(sync=False)


def create_run(
    root: Path,
    *,
    stamp: str,
    manifest: RunManifest,
    tools: Iterable[ToolSchema],
    sessions: Iterable[SessionRecord],
) -> RunWriter:
    """Make a run folder of its own under `root` and write what is known before the first turn.

    Args:
        stamp: UTC, as it shall stand in the folder's name (20261129T175512Z).
    Raises: StorageProblem where the folder cannot be written; then no folder is left behind.
    """
    assert manifest.partial and manifest.measured is None, "a run begins as partial"
    path = layout.new_run_folder(root, layout.run_name(stamp, manifest.scenario, manifest.seed))
    is_begun = False
    try:
        for name, records in ((layout.TOOLS, tools), (layout.SESSIONS, sessions)):
            lines = b"".join(encode_line(record) for record in records)
            layout.replace_file(path / name, lambda beside, lines=lines: _write(beside, lines))  # type: ignore[misc]
        writer = RunWriter(path, manifest)
        # The manifest comes last: a folder without one is no run, so a crash up to here leaves nothing readable.
        _replace_json(path / layout.MANIFEST, manifest)
        is_begun = True
        return writer
    finally:
        if not is_begun:
            layout.remove_folder(path)


def _replace_json(path: Path, value: object) -> None:
    text = msgspec.json.format(msgspec.json.encode(value), indent=2) + b"\n"
    layout.replace_file(path, lambda beside: _write(beside, text))


def _write(path: Path, content: bytes) -> None:
    path.write_bytes(content)
