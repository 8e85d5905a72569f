"""What a night leaves: the outcome of each check, the comparisons with the baseline, one verdict.

Owns: the fields of `night.json` and their version. Does not own: how they come about (`night`, `regression`), reading
and writing (`folder`). Floor 5.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from enum import StrEnum

from results.matrix.record import MatrixRecord
from results.records import JsonObject

SCHEMA = "kvrace-night/1"
"""Name and version of the format. A reader refuses a higher number; it accepts fields that it does not know."""


class Status(StrEnum):
    PASSED = "passed"
    REGRESSION = "regression"
    UNKNOWN = "unknown"
    """It ran, and could not judge."""
    SKIPPED = "skipped"
    """It did not run. Never a pass."""


class NightVerdict(StrEnum):
    OK = "ok"
    REGRESSION = "regression"
    UNKNOWN = "unknown"

    @property
    def exit_code(self) -> int:
        return {NightVerdict.OK: 0, NightVerdict.REGRESSION: 1, NightVerdict.UNKNOWN: 4}[self]


@dataclass(frozen=True, slots=True)
class CheckResult:
    """One check. sentence: what came out, or why it was skipped. details: further lines, worst first.

    wall_s: how long it took. figures: numbers worth keeping. samples: measured series, such as repeated wall times.
    command: what repeats it. matrix: of the check that made one.
    """

    name: str
    status: Status
    sentence: str
    wall_s: float = 0.0
    details: tuple[str, ...] = ()
    figures: dict[str, float] = field(default_factory=dict)
    samples: dict[str, tuple[float, ...]] = field(default_factory=dict)
    command: str = ""
    matrix: MatrixRecord | None = None


@dataclass(frozen=True, slots=True)
class BaselineComparison:
    """One comparison with the baseline, named before the night. Figures are None where it could not be made.

    p_holm: after Holm's correction over all comparisons of the night, also those that could not be made.
    """

    name: str
    status: Status
    sentence: str
    baseline: float | None = None
    tonight: float | None = None
    difference: float | None = None
    p: float | None = None
    p_holm: float | None = None


@dataclass(frozen=True, slots=True)
class NightRecord:
    """A whole night. baseline: the night that it was compared with; None on a first night.

    partial: it was interrupted. verdict: a regression weighs more than what could not be judged.
    """

    night: str
    started: str
    finished: str
    partial: bool
    budget_s: float
    wall_s: float
    source: str
    git_revision: str | None
    versions: dict[str, str]
    host: JsonObject
    config: JsonObject
    baseline: str | None
    checks: tuple[CheckResult, ...]
    comparisons: tuple[BaselineComparison, ...]
    verdict: NightVerdict
    sentence: str
    notes: tuple[str, ...] = ()
    schema: str = SCHEMA

    @property
    def matrix(self) -> MatrixRecord | None:
        return next((check.matrix for check in self.checks if check.matrix is not None), None)

    @property
    def headline(self) -> str:
        """The one line that says it all."""
        return f"{self.verdict.upper()}  night {self.night}: {self.sentence}"

    def check(self, name: str) -> CheckResult | None:
        return next((check for check in self.checks if check.name == name), None)

    def as_json(self) -> dict[str, object]:
        """Plain values, in a fixed order."""
        return asdict(self)
