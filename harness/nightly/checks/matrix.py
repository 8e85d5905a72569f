"""The matrix as a check: every arm does what its scenario expects.

Owns: the command, and what an arm's outcome means for the night. Does not own: the matrix. Floor 5.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from harness.nightly.checks.contract import NightContext
from harness.nightly.exit_codes import CLEAN, COULD_NOT_JUDGE, FOUND, INTERRUPTED
from harness.nightly.record import CheckResult, Status
from results.matrix.errors import NotAMatrix
from results.matrix.folder import open_matrix
from results.matrix.record import MatrixArm, MatrixRecord
from results.report.words import plural

MATRIX_FOLDER = "matrix"
_ENDED_WELL = (CLEAN, FOUND, COULD_NOT_JUDGE, INTERRUPTED)


class MatrixCheck:
    """Runs `run.py matrix` over the configured arms and seeds."""

    name = "matrix"

    def __repr__(self) -> str:
        return "MatrixCheck()"

    def run(self, night: NightContext) -> CheckResult:
        part = night.config.matrix
        words = ["matrix", "--arms", ",".join(part.arms), "--seeds", part.seeds, "--sessions", str(part.sessions)]
        words += setting_words(night.config.settings)
        folder = night.folder / MATRIX_FOLDER
        where = ["--workers", str(night.worker_count), "--out", str(folder), "--json"]
        ended = night.command(self.name, [*words, *where])
        command = " ".join(["python run.py", *words])
        record = _record(folder)
        if record is None or ended.code not in _ENDED_WELL:
            sentence = f"the matrix ended with exit code {ended.code}: {ended.last_words or 'it said nothing'}"
            return CheckResult(self.name, Status.UNKNOWN, sentence, ended.wall_s, command=command)
        why = "it was interrupted" if ended.is_interrupted else "the budget ended first"
        return judge_matrix(record, wall_s=ended.wall_s, command=command, why_partial=why)


def setting_words(settings: Mapping[str, str]) -> list[str]:
    """The overrides of the configuration, as a command takes them."""
    return [word for key, value in settings.items() for word in ("--set", f"{key}={value}")]


def odd_arms(record: MatrixRecord) -> list[str]:
    """A sentence for each arm that did not do what it is expected to. Seeds that are missing excuse a silent arm."""
    return [sentence for arm in record.arms if (sentence := _odd(arm, is_partial=record.partial)) is not None]


def _odd(arm: MatrixArm, *, is_partial: bool) -> str | None:
    if arm.expect == "clean" and arm.sessions_corrupted:
        what = f"{arm.sessions_corrupted:,} of {plural(arm.sessions_judged, 'session')} corrupted"
        return f"new corruption: {arm.scenario} is expected to be clean and has {what}"
    if arm.expect == "corruption" and arm.expectation_held is False and not is_partial:
        return f"no longer reproduces: {arm.scenario} is clean in {plural(arm.sessions_judged, 'session')}"
    return None


def judge_matrix(record: MatrixRecord, *, wall_s: float, command: str, why_partial: str) -> CheckResult:
    """The outcome of the check. why_partial: what ended a matrix that is not whole."""
    odd = odd_arms(record)
    unknown = [f"{arm.scenario}: {arm.verdict_reason}" for arm in record.arms if arm.expectation_held is None]
    if odd:
        status, sentence, details = Status.REGRESSION, "; ".join(odd), (*odd, *unknown)
    elif record.partial:
        status, details = Status.UNKNOWN, tuple(unknown)
        sentence = f"only {len(record.runs)} of {plural(record.runs_wanted, 'run')} were made, {why_partial}"
    elif unknown:
        status, sentence, details = Status.UNKNOWN, f"could not judge {unknown[0]}", tuple(unknown)
    else:
        status, details = Status.PASSED, ()
        sentence = f"all {plural(len(record.arms), 'arm')} as expected over {plural(len(record.seeds), 'seed')}"
    return CheckResult("matrix", status, sentence, wall_s, details, command=command, matrix=record)


def _record(folder: Path) -> MatrixRecord | None:
    try:
        return open_matrix(folder).record
    except NotAMatrix:
        return None
