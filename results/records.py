"""The records of a run: what was asked, what came back, and what the machine saw while it answered.

Owns: the fields of tools, sessions, turns and of the run's manifest, and the version of that format. Does not own:
how they are stored (`store`, `reader`, `parquet`) or judged (`oracles`).
Floor 3. Source: ours. Times are virtual nanoseconds on `virtual`, nanoseconds since the run's start elsewhere.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import isfinite
from typing import Any

from results.findings import Verdict

SCHEMA = "kvrace-run/3"
"""Name and version of the format. A reader refuses a higher number; it accepts fields that it does not know, but no
new words for an old field: a new kind or verdict makes a new number. 2: more kinds, blame, reasoning. 3: turns whose
right answer nobody knows."""

JsonObject = dict[str, Any]


@dataclass(frozen=True, slots=True)
class ToolSchema:
    """One tool as a request offers it. `parameters` is JSON Schema; no `groups` means that every group has it."""

    name: str
    description: str
    parameters: JsonObject
    groups: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call as the client put it together from the stream. `arguments` is text: it may fail to be JSON."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class ExpectedCall:
    """The planted call: the only right answer of a turn."""

    name: str
    arguments: JsonObject


@dataclass(frozen=True, slots=True)
class StaleRead:
    """Pages of one layer of one pool that were read before they had arrived.

    late_us: how long after the read the last of them arrived; negative where that is not known.
    torn: how many of the pages held the old bytes only in part.
    """

    pool: str
    layer: int
    pages: tuple[int, ...]
    late_us: float
    torn: int

    def __post_init__(self) -> None:
        # JSON has no word for NaN or infinity: msgspec would write null, and the line would not read back.
        assert isfinite(self.late_us), self.late_us


@dataclass(frozen=True, slots=True)
class MachineEvidence:
    """What the machine knows about the prefill and decode of one turn, apart from the text it produced.

    stale_reads, torn_reads, poisoned_reads: page reads (one page of one layer counts once). A poisoned read saw the
    right version of a page that an earlier, misled prefill had written.
    """

    host_hit_tokens: int
    device_hit_tokens: int
    new_tokens: int
    batch: int
    stale_reads: int
    torn_reads: int
    stale_layers: int
    late_us_max: float | None
    poisoned_reads: int
    decode_stale_reads: int
    stale_sample: tuple[StaleRead, ...]

    def __post_init__(self) -> None:
        assert self.late_us_max is None or isfinite(self.late_us_max), self.late_us_max

    @property
    def has_own_stale_read(self) -> bool:
        """Whether its prefill or its decode read bytes too early, whatever earlier turns had done."""
        return bool(self.stale_reads or self.torn_reads or self.decode_stale_reads)


@dataclass(frozen=True, slots=True)
class SessionRecord:
    """One conversation as it was planned.

    secrets: words that only this session (and the sessions forked from it) may ever see.
    scripts: writing systems of its prompts, as `oracles.scripts.scripts_of` names them.
    marks: control tokens, tags and broken characters that its prompts themselves hold, so that a reply may repeat them.
    """

    session: int
    group: int
    turn_count: int
    secrets: tuple[str, ...] = ()
    forked_from: int | None = None
    scripts: tuple[str, ...] = ()
    marks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LoadMark:
    """What a load was doing with a turn. Nobody but the client can know.

    phase: of the load's pattern (cold, return), as the load names it. is_warm_up: sent before the steady state.
    hung_up: in which phase of the answer the client closed the connection on purpose; empty where it did not.
    """

    phase: str = ""
    is_warm_up: bool = False
    hung_up: str = ""

    @property
    def is_aside(self) -> bool:
        """Such a turn is kept, and counts in no rate and in no latency."""
        return self.is_warm_up or bool(self.hung_up)


@dataclass(frozen=True, slots=True)
class TurnRecord:
    """One request and its reply. reasoning: what the model thought aloud, where the server sends it apart.

    expected: None where nobody knows the right answer. max_tokens: limit of this reply, where it has one of its own.
    load: None where the load had nothing special in mind. expected_word: of a task in plain text, a word that the right
    answer holds.
    """

    session: int
    turn: int
    request_id: str
    group: int
    scheduled_ns: int
    sent_ns: int
    first_token_ns: int | None
    finished_ns: int | None
    prompt_tokens: int | None
    completion_tokens: int | None
    cached_tokens: int | None
    finish_reason: str | None
    content: str
    tool_calls: tuple[ToolCall, ...]
    expected: ExpectedCall | None
    secrets: tuple[str, ...]
    error: str | None
    raw: str | None
    machine: MachineEvidence | None
    reasoning: str = ""
    load: LoadMark | None = None
    max_tokens: int | None = None
    expected_word: str | None = None

    @property
    def has_answer(self) -> bool:
        """Whether the right answer is known."""
        return self.expected is not None or self.expected_word is not None

    @property
    def is_aside(self) -> bool:
        return self.load is not None and self.load.is_aside

    @property
    def key(self) -> tuple[int, int]:
        return (self.session, self.turn)


@dataclass(frozen=True, slots=True)
class ServedAlone:
    """What the same turns said when they were asked again alone (`results/serial`), as far as a verdict needs it.

    verdict: VIOLATED where load made them wrong. is_explained: the run's wrong turns are no corruption by this.
    """

    verdict: Verdict
    reason: str
    is_explained: bool


@dataclass(frozen=True, slots=True)
class Measured:
    """What is known only when a run ends, besides its turns. `counters` are the cache's own (load_backs, ...).

    served_alone: None where no turn was asked again.
    """

    turn_count: int
    wall_s: float
    trace_digest: str
    counters: dict[str, int | float]
    served_alone: ServedAlone | None = None


@dataclass(frozen=True, slots=True)
class RunManifest:
    """What was run, on what, and how far it came. `partial` stays true until the run has been closed.

    started, finished: UTC, ISO 8601. repeat: the exact command that repeats the run.
    times_are_virtual: the times of the turns belong to the outcome (and to its digest), not to the weather.
    exact_replies: the model under test is constructed and can say nothing right but the planted call.
    requires_host_tier: a clean verdict needs load-backs and host hits, else the defect had no chance to show.
    max_tokens: limit of a reply's length in tokens, where one was set.
    workload_digest: of all requests of the first round, where it was taken: made again, they can be proven equal.
    """

    seed: int
    scenario: str
    backend: str
    configuration: JsonObject
    versions: dict[str, str]
    host: JsonObject
    git_revision: str | None
    started: str
    repeat: str
    session_count: int
    times_are_virtual: bool = True
    exact_replies: bool = False
    requires_host_tier: bool = False
    max_tokens: int | None = None
    finished: str | None = None
    partial: bool = True
    measured: Measured | None = None
    workload_digest: str | None = None
    schema: str = field(default=SCHEMA)
