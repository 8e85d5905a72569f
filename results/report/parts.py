"""The parts of a report: plain, frozen records of what is shown, the same for every format.

Owns: the fields. Does not own: filling them in (`model` and its neighbours) or showing them (`html`, `markdown`,
`junit`, `prometheus`). Floor 3. Source: ours.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from results.records import StaleRead
from results.report.alone import AlonePart
from results.verdict import RunVerdict


@dataclass(frozen=True, slots=True)
class Rate:
    """A share with its 95 % interval.

    rate: None where there was nothing to count. method: how the interval was made, and over which unit.
    open_bound: where nothing was found, the largest rate that this still leaves open (one-sided 95 %), by what is known
    of dependence; open_words: the same as a sentence with every assumption.
    """

    events: int
    units: int
    rate: float | None
    low: float
    high: float
    method: str
    open_bound: float | None = None
    open_words: str | None = None


@dataclass(frozen=True, slots=True)
class KindRow:
    """Corruption of one kind in one arm: turns by their kind, sessions by the kind of their first corrupted turn."""

    kind: str
    turns: Rate
    sessions: Rate


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that had to happen before a clean verdict means anything. passed: None where it cannot be known."""

    name: str
    passed: bool | None
    words: str


@dataclass(frozen=True, slots=True)
class Proof:
    """That the path was exercised, in figures. A figure is None where the server does not tell it.

    overlap: the most requests that the server had in progress at once. host_units: what came back from a live server's
    host tier, in the unit of its own counter.
    """

    load_backs: int | None
    loaded_bytes: int | None
    host_hit_turns: int | None
    turns: int
    backups: int | None
    evicted_device_pages: int | None
    overlap: int | None
    stale_reads: int | None
    torn_reads: int | None
    poisoned_reads: int | None
    decode_stale_reads: int | None
    checks: tuple[Check, ...]
    host_units: int | None = None


@dataclass(frozen=True, slots=True)
class ArmPart:
    """One arm.

    unit: what the interval counts as independent. seed_rates: session rate by seed, drawn behind the mean.
    control, p, p_holm: the arm that it is compared with; p plain, and after Holm's correction.
    expect, expectation_held: of the scenario, where it is stored. caveat: what so few seeds mean.
    turns_by_text: judged turns without a known answer.
    """

    name: str
    summary: str
    expect: str | None
    expectation_held: bool | None
    verdict: RunVerdict
    verdict_reason: str
    seeds: tuple[int, ...]
    unit: str
    sessions: Rate
    turns: Rate
    turns_total: int
    turns_unknown: int
    unknown_kinds: dict[str, int]
    seed_rates: tuple[float, ...]
    kinds: tuple[KindRow, ...]
    origins: dict[str, int]
    proof: Proof
    control: str | None = None
    p: float | None = None
    p_holm: float | None = None
    caveat: str | None = None
    turns_by_text: int = 0


@dataclass(frozen=True, slots=True)
class ComparisonPart:
    """Two arms over the same seeds: first minus second, named before the runs were made."""

    name: str
    first: str
    second: str
    factor: str
    seeds: int
    difference: float | None
    low: float | None
    high: float | None
    p: float | None
    p_holm: float | None
    words: str


class State(StrEnum):
    """What a turn came to, for drawing. A reply that differs by rounding alone is sound."""

    SOUND = "sound"
    CORRUPTED = "corrupted"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class TurnPoint:
    """One turn as the time lines show it. Seconds since the run's start; None where it is not known.

    ttft_s: from sending to the first token. itl_ms: mean time between tokens. loaded_tokens: of the prompt, what came
    from the host tier. in_flight: requests that were running when this one was sent, itself included.
    wrong_at: of a corrupted turn, the first character that differs from the planted call.
    """

    session: int
    turn: int
    state: State
    kind: str | None
    sent_s: float
    end_s: float | None
    ttft_s: float | None
    itl_ms: float | None
    prompt_tokens: int | None
    loaded_tokens: int | None
    in_flight: int
    stale_layers: int | None
    wrong_at: int | None


@dataclass(frozen=True, slots=True)
class RunPart:
    """One stored run, with all its turns in the order in which they were sent."""

    name: str
    arm: str
    seed: int
    backend: str
    verdict: RunVerdict
    partial: bool
    times_are_virtual: bool
    sessions: int
    session_rate: float | None
    wall_s: float
    digest: str
    points: tuple[TurnPoint, ...]


@dataclass(frozen=True, slots=True)
class Bin:
    """Turns with x in [low, high), or up to and with high in the last bin; the share of them that is corrupted."""

    label: str
    low: float
    high: float
    turns: Rate


@dataclass(frozen=True, slots=True)
class Bins:
    """One share over one quantity.

    is_dose: more of x is more of the suspected cause. trend: what a fitted curve says of it, if one was fitted.
    """

    name: str
    title: str
    x_label: str
    arm: str
    is_dose: bool
    bins: tuple[Bin, ...]
    trend: str | None = None


@dataclass(frozen=True, slots=True)
class Piece:
    """A run of text in a difference: `same`, `gone` (expected only), `new` (received only)."""

    mark: str
    text: str


@dataclass(frozen=True, slots=True)
class EvidencePart:
    """One corrupted turn, with everything that is known about it. Texts are harmless to show.

    reasons: oracle, severity and sentence of each finding. blame: parser or engine, and why; None where nobody asked.
    difference: of both texts around the place where they part; `is_cut_*` says whether there is more of them.
    """

    arm: str
    seed: int
    session: int
    turn: int
    request_id: str
    kind: str
    origin: str
    sent_s: float
    prompt_tokens: int | None
    loaded_tokens: int | None
    reasons: tuple[tuple[str, str, str], ...]
    blame: str | None
    expected: str
    received: str
    difference: tuple[Piece, ...]
    difference_note: str
    is_cut_before: bool
    is_cut_behind: bool
    bytes_note: str
    byte_lines: tuple[str, ...]
    raw: str | None
    raw_note: str
    race: tuple[str, ...]
    stale_sample: tuple[StaleRead, ...]


@dataclass(frozen=True, slots=True)
class SettingRow:
    """One key of the configuration, with its value in each arm, as JSON text."""

    key: str
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Report:
    """Everything that a report says.

    exit_code: as of the run. faults: what could not be read, and what that does to the figures. notes: what else a
    reader must know. focus: the arm whose turns `bins` shows: the one with the most corruption.
    alone: the same turns asked again alone; None where none was.
    evidence_total: corrupted turns that could be read; `evidence` shows a part of them where there are many.
    """

    title: str
    summary: str
    path: str
    is_matrix: bool
    verdict: RunVerdict
    verdict_reason: str
    exit_code: int
    partial: bool
    arms: tuple[ArmPart, ...]
    comparisons: tuple[ComparisonPart, ...]
    focus: str | None
    runs: tuple[RunPart, ...]
    bins: tuple[Bins, ...]
    evidence: tuple[EvidencePart, ...]
    evidence_total: int
    differing: tuple[SettingRow, ...]
    settings: tuple[SettingRow, ...]
    facts: tuple[tuple[str, str], ...]
    repeat: tuple[tuple[str, str], ...]
    assumption: str
    notes: tuple[str, ...]
    faults: tuple[str, ...]
    alone: AlonePart | None = None
