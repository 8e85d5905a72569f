"""The record of a matrix: which arms ran over which seeds, what each came to, and how they differ.

Owns: the fields of `matrix.json` and their version. Does not own: the figures themselves (whoever fills them in),
reading and writing (`results.matrix.folder`), the runs, which lie beside it in `runs/`. Floor 3. Source: ours.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field

from results.records import JsonObject
from results.verdict import RunVerdict

SCHEMA = "kvrace-matrix/1"
"""Name and version of the format. A reader refuses a higher number; it accepts fields that it does not know."""

Bounds = tuple[float, float]


@dataclass(frozen=True, slots=True)
class MatrixRun:
    """One finished run of the matrix.

    run_dir: its folder, relative to the matrix folder; None where it was not kept.
    session_rate: of the sessions that could be judged; None where none could.
    """

    scenario: str
    seed: int
    run_dir: str | None
    sessions: int
    sessions_judged: int
    sessions_corrupted: int
    session_rate: float | None
    turns: int
    turns_corrupted: int
    verdict: RunVerdict
    verdict_reason: str
    digest: str
    wall_s: float


@dataclass(frozen=True, slots=True)
class MatrixArm:
    """One arm over its seeds; the seed is the unit of every interval and p.

    expect: `corruption` or `clean`, as the scenario says; expectation_held: None where the arm could not be judged.
    session_rate, session_ci95: over all its sessions, allowing for the seeds; None where nothing could be judged.
    ci_method says how. rate_min, rate_max: of single seeds.
    rate_bound: where nothing was corrupted, the largest rate that is left open (one-sided 95 %), allowing for the
    seeds; session_bound: if sessions were independent; zero: both in a sentence. None where something was.
    caveat: what so few seeds mean; None where there are enough.
    control: the arm that `p_vs_control` compares with. p_vs_control is the plain p, p_vs_control_holm after Holm's
    correction over all named comparisons; both None where there is no control, or fewer than two seeds in both.
    overrides: `section.key` -> text, as given on the command line for every arm. configuration: the whole scenario.
    """

    scenario: str
    summary: str
    expect: str
    expectation_held: bool | None
    seeds: int
    seeds_judged: int
    seeds_corrupted: int
    seeds_unknown: int
    sessions: int
    sessions_judged: int
    sessions_corrupted: int
    session_rate: float | None
    session_ci95: Bounds | None
    ci_method: str
    rate_min: float | None
    rate_max: float | None
    rate_bound: float | None
    session_bound: float | None
    zero: str | None
    caveat: str | None
    control: str | None
    p_vs_control: float | None
    p_vs_control_holm: float | None
    turns: int
    turns_corrupted: int
    kinds: dict[str, int]
    sessions_primary: int
    sessions_secondary: int
    host_hit_share: float | None
    load_backs: int
    loaded_bytes: int
    stale_reads: int
    torn_reads: int
    poisoned_reads: int
    verdict: RunVerdict
    verdict_reason: str
    configuration: JsonObject
    overrides: dict[str, str]


@dataclass(frozen=True, slots=True)
class NamedComparison:
    """Two arms over the same seeds: first minus second. It was named before any run was made.

    factor: the one switch in which they differ (`cache.hicache`, ...). difference, ci95: of the mean session rates.
    p: two-sided paired permutation test; p_holm: after Holm's correction over all named comparisons.
    smallest_p: what so few seeds can show at best. decided: p_holm is at most 5 %. All None below two common seeds.
    """

    name: str
    first: str
    second: str
    factor: str
    seeds: int
    difference: float | None
    ci95: Bounds | None
    p: float | None
    p_holm: float | None
    smallest_p: float | None
    seeds_higher: int
    seeds_lower: int
    decided: bool | None
    reason: str


@dataclass(frozen=True, slots=True)
class SequentialState:
    """How `--until decided` stands, valid at whichever seed it stopped. method, reason: in words.

    claims: one an arm: arm, control, verdict (higher, lower, bounded, undecided), rate, ci, difference, difference_ci,
    p_adjusted, seeds_used, sentence.
    """

    method: str
    is_decided: bool
    reason: str
    seeds_used: int
    seeds_max: int
    claims: tuple[JsonObject, ...]


@dataclass(frozen=True, slots=True)
class MatrixRecord:
    """A whole matrix. partial: it was interrupted, and some runs that were wanted are not there.

    verdict: corrupt where any arm is; unknown where any arm could not be judged; clean otherwise.
    expectations_hold: whether every arm did what its scenario expects; None where one could not be judged.
    source: hash of the source code that made the runs. started, finished: UTC, ISO 8601. repeat: the exact command.
    configuration_diff: `section.key` -> value by arm, only the keys in which the arms differ. wall_s: of all runs.
    """

    name: str
    started: str
    finished: str | None
    partial: bool
    repeat: str
    source: str
    versions: dict[str, str]
    host: JsonObject
    git_revision: str | None
    seeds: tuple[int, ...]
    runs_wanted: int
    arms: tuple[MatrixArm, ...]
    comparisons: tuple[NamedComparison, ...]
    runs: tuple[MatrixRun, ...]
    configuration_diff: dict[str, dict[str, object]]
    verdict: RunVerdict
    verdict_reason: str
    expectations_hold: bool | None
    notes: tuple[str, ...] = ()
    sequential: SequentialState | None = None
    wall_s: float = 0.0
    schema: str = field(default=SCHEMA)

    def as_json(self) -> dict[str, object]:
        """Plain values, in a fixed order."""
        return asdict(self)

    def runs_of(self, scenario: str) -> list[MatrixRun]:
        """The runs of one arm, in the order of their seeds."""
        return sorted((run for run in self.runs if run.scenario == scenario), key=lambda run: run.seed)
