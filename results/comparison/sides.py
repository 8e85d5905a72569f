"""What the user named for a comparison: a run folder, a matrix folder, or one arm of a matrix (`FOLDER:ARM`).

Owns: reading it, and bringing runs and arms into one form. Every fault of what is stored is kept and said; a stored run
is judged again with today's oracles. Floor 3. Source: ours.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from kernels.errors import ConfigError
from results import layout
from results.counts import count_turns
from results.digest import digest_of
from results.errors import NotARun
from results.matrix.folder import MATRIX, StoredMatrix, is_matrix, open_matrix
from results.matrix.record import MatrixArm, MatrixRecord
from results.reader import Run, open_run
from results.records import JsonObject
from results.rejudge import judge_again

_WHAT_FOR = ("name", "summary", "expect")


@dataclass(frozen=True, slots=True)
class SeedCell:
    """One run as a comparison needs it: its sessions by outcome, and the digest of all of it."""

    sessions_judged: int
    sessions_corrupted: int
    digest: str

    @property
    def rate(self) -> float | None:
        return self.sessions_corrupted / self.sessions_judged if self.sessions_judged else None


@dataclass(frozen=True, slots=True)
class Side:
    """One run, or one arm over its seeds. place, path: its folder as it was given, and where that is.

    arm: its name in the matrix; None for a single run. configuration: `section.key` -> value. cells: by seed.
    source: what is known of the code that made it. kinds: corrupted turns by kind.
    sessions: of a single run, its sessions by number: (secrets, corrupted); None where that one could not be judged.
    faults: what could not be read, in words. is_stopped_by_data: how many seeds there are was not fixed beforehand.
    """

    place: str
    path: Path
    arm: str | None
    configuration: Mapping[str, object]
    backend: str
    versions: Mapping[str, str]
    source: str | None
    cells: Mapping[int, SeedCell]
    kinds: Mapping[str, int]
    faults: tuple[str, ...]
    sessions: Mapping[int, tuple[tuple[str, ...], bool | None]] | None = None
    is_stopped_by_data: bool = False

    @property
    def label(self) -> str:
        """As it is written on the command line."""
        return self.place if self.arm is None else f"{self.place}:{self.arm}"


@dataclass(frozen=True, slots=True)
class Named:
    """What a name stands for: one side, or all arms of a matrix. is_matrix: the whole matrix was named."""

    label: str
    path: Path
    sides: tuple[Side, ...]
    is_matrix: bool


def open_named(text: str) -> Named:
    """Raises: NotARun, NotAMatrix, NewerRun, ConfigError for an arm that the matrix does not have."""
    path = Path(text)
    if is_matrix(path):
        stored = open_matrix(path)
        sides = tuple(_stored_side(stored, arm, text) for arm in stored.record.arms)
        return Named(text, path, sides, is_matrix=True)
    folder, colon, arm_name = text.rpartition(":")
    if not path.exists() and colon and is_matrix(Path(folder)):
        stored = open_matrix(Path(folder))
        return Named(text, stored.path, (_stored_side(stored, _arm(stored, arm_name), folder),), is_matrix=False)
    if path.is_dir() and not (path / layout.MANIFEST).exists():
        raise NotARun(path, f"it holds neither a {layout.MANIFEST} nor a {MATRIX}")
    return Named(text, path, (_run_side(open_run(path), text),), is_matrix=False)


def flat(configuration: JsonObject) -> dict[str, object]:
    """`section.key` -> value, without what only says what a scenario is for."""
    found: dict[str, object] = {}
    for name, value in configuration.items():
        if isinstance(value, dict):
            found |= {f"{name}.{key}": inner for key, inner in value.items()}
        elif name not in _WHAT_FOR:
            found[name] = value
    return found


def _stored_side(stored: StoredMatrix, arm: MatrixArm, place: str) -> Side:
    return arm_side(stored.record, arm, place, [str(fault) for fault in stored.faults])


def _arm(stored: StoredMatrix, name: str) -> MatrixArm:
    arms = {arm.scenario: arm for arm in stored.record.arms}
    if name not in arms:
        what = f"the matrix '{stored.path}' has no arm '{name}'"
        raise ConfigError(what, key="arm", value=name, allowed=tuple(arms))
    return arms[name]


def arm_side(record: MatrixRecord, arm: MatrixArm, place: str, faults: Sequence[str] = ()) -> Side:
    """One arm of a matrix. place: how the matrix is called; faults: what is known to be wrong with what is stored."""
    runs = record.runs_of(arm.scenario)
    if record.partial:
        faults = [*faults, f"the matrix was interrupted: {len(record.runs)} of {record.runs_wanted} runs are there"]
    # A seed that is stored twice is a fault of its folder; neither of the two can be told to be the right one.
    times = Counter(run.seed for run in runs)
    return Side(
        place=place,
        path=Path(place),
        arm=arm.scenario,
        configuration=flat(arm.configuration),
        backend="virtual",
        versions=record.versions,
        source=record.source,
        cells={
            run.seed: SeedCell(run.sessions_judged, run.sessions_corrupted, run.digest)
            for run in runs
            if times[run.seed] == 1
        },
        kinds=arm.kinds,
        faults=tuple(faults),
        is_stopped_by_data=record.sequential is not None,
    )


def _run_side(run: Run, place: str) -> Side:
    manifest, (judgements, raw_faults) = run.manifest, judge_again(run)
    counts = count_turns(run.turns, judgements)
    by_session: dict[int, list[bool | None]] = {session.session: [] for session in run.sessions}
    for judgement in judgements:
        outcome = None if judgement.verdict == "unknown" else judgement.is_corrupted
        by_session.setdefault(judgement.session, []).append(outcome)
    secrets = {session.session: session.secrets for session in run.sessions}
    faults = [str(fault) for fault in (*run.faults, *raw_faults)]
    if manifest.partial:
        faults.append(f"the run was interrupted: {counts.sessions} of {manifest.session_count} sessions have turns")
    trace = manifest.measured.trace_digest if manifest.measured is not None else ""
    digest = digest_of(run.turns, trace, times_are_virtual=manifest.times_are_virtual)
    return Side(
        place=place,
        path=run.path,
        arm=None,
        configuration=flat(manifest.configuration),
        backend=manifest.backend,
        versions=manifest.versions,
        source=manifest.git_revision,
        cells={manifest.seed: SeedCell(counts.sessions_judged, counts.sessions_corrupted, digest)},
        kinds=counts.kinds,
        faults=tuple(faults),
        sessions={number: (secrets.get(number, ()), _any(found)) for number, found in by_session.items()},
    )


def _any(outcomes: list[bool | None]) -> bool | None:
    """Corrupted where any turn is; None where no turn could be judged."""
    judged = [outcome for outcome in outcomes if outcome is not None]
    return any(judged) if judged else None
