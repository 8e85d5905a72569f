"""Keeping a live run: a run folder as a simulation leaves it, whose sessions become more while it runs.

Owns: judging and storing each turn as it ends. Does not own: the format (`results/store`), the oracles, the load.
Floor 5. Source: ours.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from harness.load.workload.planned import PlannedWorkload
from results import layout
from results.findings import Judgement, Verdict
from results.lines import encode_line, without_raw
from results.oracles.context import JudgeContext, judge_context
from results.oracles.contract import unknown
from results.oracles.judge import judge_turn
from results.records import ExpectedCall, Measured, RunManifest, SessionRecord, ToolSchema, TurnRecord
from results.store import RunWriter, create_run


class Keeper:
    """store: parent of the run folder; None keeps nothing on the disk.

    turns, judgements: those that count. aside: the others (warm-up, hung up upon), which are on the disk all the same.
    """

    def __init__(self, store: Path | None, manifest: RunManifest, workload: PlannedWorkload, *, stamp: str) -> None:
        self.turns: list[TurnRecord] = []
        self.judgements: list[Judgement] = []
        self.aside: list[tuple[TurnRecord, Judgement]] = []
        self.corrupted = 0
        self.manifest = replace(manifest, session_count=len(workload.sessions))
        self._tools: list[ToolSchema] = list(workload.tool_schemas())
        self._sessions: list[SessionRecord] = [plan.record() for plan in workload.sessions]
        self._planted = _planted(workload)
        self._context = self._new_context()
        self._writer: RunWriter | None = None
        if store is not None:
            self._writer = create_run(
                store, stamp=stamp, manifest=self.manifest, tools=self._tools, sessions=self._sessions
            )

    def __repr__(self) -> str:
        return f"Keeper({len(self.turns)} turns, {self._writer})"

    @property
    def turn_count(self) -> int:
        return len(self.turns) + len(self.aside)

    @property
    def path(self) -> str:
        return "" if self._writer is None else str(self._writer.path)

    def more(self, workload: PlannedWorkload) -> None:
        """Another round's sessions. Effect: they are on the disk before the first of them begins."""
        tools = [tool for tool in workload.tool_schemas() if tool not in self._tools]
        sessions = [plan.record() for plan in workload.sessions]
        self._tools += tools
        self._sessions += sessions
        self._planted += _planted(workload)
        self._context = self._new_context()
        self.manifest = replace(self.manifest, session_count=len(self._sessions))
        if self._writer is not None:
            _rewrite(self._writer.path / layout.TOOLS, self._tools)
            _rewrite(self._writer.path / layout.SESSIONS, self._sessions)

    def judge(self, turn: TurnRecord) -> Judgement:
        """Judge a reply that is no part of the run, as the run's own are."""
        return judge_turn(turn, self._context)

    def keep(self, turn: TurnRecord) -> None:
        """Judge a turn and store both. Raises: StorageProblem.

        Effect: a reply that the judge itself stumbles over is stored as not judged, and the judge's error goes on. That
        error is a bug of ours and ends the run; the reply is what it can be mended and the run judged again with.
        """
        judgement = _not_judged(turn)
        try:
            judgement = judge_turn(turn, self._context) if not _is_left(turn) else _nothing_to_judge(turn)
        finally:
            self._store(turn, judgement)

    def _store(self, turn: TurnRecord, judgement: Judgement) -> None:
        if self._writer is not None:
            self._writer.append(turn, judgement)
        if turn.is_aside:
            self.aside.append((without_raw(turn), judgement))
        else:
            self.turns.append(without_raw(turn))
            self.judgements.append(judgement)
        self.corrupted += judgement.is_corrupted

    def only_begun(self) -> None:
        """Sessions that never began were never part of the run: no session is begun after its end."""
        begun = {turn.session for turn in (*self.turns, *(turn for turn, _ in self.aside))}
        self._sessions = [session for session in self._sessions if session.session in begun]
        self.manifest = replace(self.manifest, session_count=len(self._sessions))
        if self._writer is not None:
            _rewrite(self._writer.path / layout.SESSIONS, self._sessions)

    def close(self, *, finished: str, measured: Measured, summary: Mapping[str, object], partial: bool) -> None:
        if self._writer is None:
            self.manifest = replace(self.manifest, finished=finished, partial=partial, measured=measured)
            return
        self._writer.manifest = self.manifest
        self.manifest = self._writer.close(finished=finished, measured=measured, summary=summary, partial=partial)

    def abandon(self) -> None:
        if self._writer is not None:
            self._writer.abandon()

    def _new_context(self) -> JudgeContext:
        return judge_context(
            tools=self._tools, sessions=self._sessions, planted=self._planted, max_tokens=self.manifest.max_tokens
        )


def _planted(workload: PlannedWorkload) -> list[tuple[int, int, ExpectedCall]]:
    return [
        (plan.session, turn, planned.expected.record())
        for plan in workload.sessions
        for turn, planned in enumerate(plan.turns)
        if planned.expected is not None
    ]


def _is_left(turn: TurnRecord) -> bool:
    return turn.load is not None and bool(turn.load.hung_up)


def _nothing_to_judge(turn: TurnRecord) -> Judgement:
    """Of a reply that we did not wait for. What came of it says nothing about what would have come."""
    return Judgement(turn.session, turn.turn, Verdict.UNKNOWN, None, None, ())


def _not_judged(turn: TurnRecord) -> Judgement:
    """Of a reply whose judging does not come to its end."""
    reason = "the judge of kvrace did not come to the end of this reply: it failed, or was interrupted"
    return Judgement(turn.session, turn.turn, Verdict.UNKNOWN, None, None, tuple(unknown("judge", reason)))


def _rewrite(path: Path, records: Sequence[ToolSchema] | Sequence[SessionRecord]) -> None:
    lines = b"".join(map(encode_line, records))

    def write(beside: Path) -> None:
        beside.write_bytes(lines)

    layout.replace_file(path, write)
