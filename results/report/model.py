"""`build_report`: everything that a report says, from a run folder or a matrix folder.

Owns: what goes where, and the order. Does not own: the parts (their own modules), or any format. A report never judges
by itself: verdicts and rates are those of the run's summary or of the matrix record. Floor 3. Source: ours.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from results import layout
from results.errors import NotARun
from results.matrix.folder import MATRIX, StoredMatrix, is_matrix, open_matrix
from results.matrix.record import MatrixRecord
from results.records import RunManifest
from results.report import settings
from results.report.alone import alone_of
from results.report.arms import arm_of_matrix, arm_of_run, comparison_part
from results.report.bins import bins_of
from results.report.evidence import evidence_of
from results.report.gather import JudgedRun, gather_matrix, gather_run
from results.report.live_notes import live_notes
from results.report.load_notes import load_notes
from results.report.parts import ArmPart, Report
from results.report.points import run_part
from results.report.words import plural

_ONE_RUN = (
    "The interval takes the sessions of this run as independent, yet they share prefixes and load-backs: a claim needs "
    "several seeds (run.py matrix)."
)
_SEEDS = (
    "The independent unit is the seed: sessions of one run share prefixes and load-backs, whole runs share nothing."
)
_BLOCKS = (
    "The independent unit is the block of time, which stands where a seed does: sessions of one block share prefixes "
    "and a server."
)
_LIVE = (
    "The interval takes the sessions of this run as independent, yet those that ran at the same time shared a server: "
    "a claim needs several blocks of time or several runs."
)


def build_report(path: Path) -> Report:
    """Read a run folder or a matrix folder and say everything about it.

    Raises: NotARun, NotAMatrix, NewerRun.
    """
    if is_matrix(path):
        return _of_matrix(open_matrix(path))
    if path.is_dir() and not (path / layout.MANIFEST).exists():
        raise NotARun(path, f"it holds neither {layout.MANIFEST} nor {MATRIX}")
    return _of_run(gather_run(path), path)


def _of_run(judged: JudgedRun, path: Path) -> Report:
    manifest, summary = judged.run.manifest, judged.summary
    part = run_part(judged)
    cards, total, raw_faults = evidence_of([judged])
    alone, alone_faults = alone_of(path)
    arm = arm_of_run(judged)
    _, common = settings.compared([manifest.configuration])
    return Report(
        title=f"{summary.scenario}, seed {summary.seed}",
        summary=arm.summary,
        path=str(path),
        is_matrix=False,
        verdict=summary.verdict,
        verdict_reason=summary.verdict_reason,
        exit_code=summary.exit_code(),
        partial=summary.partial,
        arms=(arm,),
        comparisons=(),
        focus=judged.arm,
        runs=(part,),
        bins=bins_of([part], judged.arm),
        evidence=cards,
        evidence_total=total,
        differing=(),
        settings=common,
        facts=_run_facts(manifest, judged),
        repeat=(
            ("repeat the run", manifest.repeat),
            ("judge it again, with today's oracles", f"python run.py score {path}"),
            ("write this report", f"python run.py report {path}"),
        ),
        assumption=_ONE_RUN if manifest.times_are_virtual else _LIVE,
        notes=(*_begun(judged), *load_notes(judged), *live_notes(summary.counters, judged.server_log)),
        faults=(*judged.faults, *raw_faults, *alone_faults),
        alone=alone,
    )


def _of_matrix(matrix: StoredMatrix) -> Report:
    record = matrix.record
    judged, faults = gather_matrix(matrix)
    parts = [run_part(run) for run in judged]
    arms = tuple(arm_of_matrix(arm, record, [run for run in judged if run.arm == arm.scenario]) for arm in record.arms)
    cards, total, raw_faults = evidence_of(judged)
    differing, common = settings.compared([arm.configuration for arm in record.arms])
    focus = _focus(arms)
    return Report(
        title=f"{plural(len(arms), 'arm')} over {_units(record)}",
        summary="",
        path=str(matrix.path),
        is_matrix=True,
        verdict=record.verdict,
        verdict_reason=record.verdict_reason,
        exit_code=record.verdict.exit_code,
        partial=matrix.is_partial,
        arms=arms,
        comparisons=tuple(comparison_part(found) for found in record.comparisons),
        focus=focus,
        runs=tuple(parts),
        bins=bins_of([part for part in parts if part.arm == focus], focus) if focus else (),
        evidence=cards,
        evidence_total=total,
        differing=differing,
        settings=common,
        facts=_matrix_facts(record),
        repeat=(
            ("repeat it" if _is_live(record) else "repeat the matrix, or go on with it", record.repeat),
            ("write this report", f"python run.py report {matrix.path}"),
        ),
        assumption=_BLOCKS if _is_live(record) else _SEEDS,
        notes=tuple(_matrix_notes(record)),
        faults=(*faults, *raw_faults),
    )


def _focus(arms: Sequence[ArmPart]) -> str | None:
    """The arm with the highest rate; the first of several."""
    return max(arms, key=lambda arm: arm.sessions.rate or 0.0).name if arms else None


def _begun(judged: JudgedRun) -> list[str]:
    summary, wanted = judged.summary, judged.run.manifest.session_count
    if not judged.run.manifest.partial:
        return []
    return [f"Interrupted: {summary.sessions} of {wanted} sessions had begun; what was done was kept."]


def _is_live(record: MatrixRecord) -> bool:
    """Its arms are servers, and no scenarios."""
    return any("server" in arm.configuration for arm in record.arms)


def _units(record: MatrixRecord) -> str:
    count = len(record.seeds)
    return f"{plural(count, 'block')} of time" if _is_live(record) else plural(count, "seed")


def _matrix_notes(record: MatrixRecord) -> list[str]:
    notes = list(record.notes)
    if record.expectations_hold is not None and not _is_live(record):
        held = "Every arm did" if record.expectations_hold else "Not every arm did"
        notes.append(f"{held} what its scenario expects.")
    if record.sequential is not None:
        notes.append(f"{record.sequential.method}: {record.sequential.reason}")
    return notes


def _run_facts(manifest: RunManifest, judged: JudgedRun) -> tuple[tuple[str, str], ...]:
    return (
        ("backend", manifest.backend),
        ("seed", str(manifest.seed)),
        ("digest of the outcome", judged.summary.digest),
        *_made(manifest.started, manifest.finished, manifest.git_revision, manifest.versions, manifest.host),
        ("wall time", f"{judged.summary.wall_s:,.1f} s"),
    )


def _matrix_facts(record: MatrixRecord) -> tuple[tuple[str, str], ...]:
    return (
        ("matrix", record.name),
        ("seeds", ", ".join(map(str, record.seeds))),
        ("source of the runs", record.source),
        *_made(record.started, record.finished, record.git_revision, record.versions, record.host),
        ("wall time", f"{record.wall_s:,.1f} s"),
    )


def _made(
    started: str, finished: str | None, revision: str | None, versions: Mapping[str, str], host: Mapping[str, object]
) -> tuple[tuple[str, str], ...]:
    return (
        ("started", started),
        ("finished", finished or "never"),
        ("source revision", revision or "not known"),
        ("versions", ", ".join(f"{name} {version}" for name, version in versions.items())),
        ("host", ", ".join(f"{name} {value}" for name, value in host.items())),
    )
