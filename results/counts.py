"""Counting judged turns and sessions.

Owns: which sessions and turns count as judged, corrupted, unknown, and of which kind and origin. Does not own: rates,
intervals and the verdict (`summary`, `verdict`). Floor 3. Source: ours.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from results.findings import CORRUPTION_KINDS, Judgement, Origin, Verdict
from results.records import TurnRecord

_Pairs = list[tuple[TurnRecord, Judgement]]


@dataclass(frozen=True, slots=True)
class TurnCounts:
    """Counts of one run. Lists by session are in the order of session ids.

    kinds, session_kinds: turns by primary kind; sessions by the kind of their first corrupted turn. In the order of
    priority, without zeros. unknown_kinds: why turns could not be judged. origins: with zeros.
    turns_known: judged turns whose right answer was known.
    """

    sessions: int
    turns: int
    turns_known: int
    judged_by_session: tuple[int, ...]
    corrupted_by_session: tuple[int, ...]
    kinds_by_session: dict[str, tuple[int, ...]]
    session_kinds: dict[str, int]
    unknown_kinds: dict[str, int]
    origins: dict[str, int]
    session_origins: dict[str, int]

    @property
    def turns_judged(self) -> int:
        return sum(self.judged_by_session)

    @property
    def turns_unknown(self) -> int:
        return self.turns - self.turns_judged

    @property
    def turns_corrupted(self) -> int:
        return sum(self.corrupted_by_session)

    @property
    def sessions_judged(self) -> int:
        """Sessions with a turn that could be judged."""
        return sum(count > 0 for count in self.judged_by_session)

    @property
    def sessions_corrupted(self) -> int:
        return sum(count > 0 for count in self.corrupted_by_session)

    @property
    def kinds(self) -> dict[str, int]:
        return {kind: sum(counts) for kind, counts in self.kinds_by_session.items()}


def count_turns(turns: Sequence[TurnRecord], judgements: Sequence[Judgement]) -> TurnCounts:
    """Count, given one judgement a turn in the order of the turns."""
    sessions = _by_session(turns, judgements)
    found = [[judgement for _, judgement in pairs] for pairs in sessions]
    corrupted = [judgement for judgement in judgements if judgement.is_corrupted]
    unknown = Counter(str(j.kind or "no_answer") for j in judgements if j.verdict is Verdict.UNKNOWN)
    firsts = [first for pairs in sessions if (first := _first_corrupted(pairs)) is not None]
    return TurnCounts(
        sessions=len(sessions),
        turns=len(turns),
        turns_known=sum(
            turn.has_answer and judgement.verdict is not Verdict.UNKNOWN
            for turn, judgement in zip(turns, judgements, strict=True)
        ),
        judged_by_session=tuple(sum(j.verdict is not Verdict.UNKNOWN for j in of_session) for of_session in found),
        corrupted_by_session=tuple(sum(j.is_corrupted for j in of_session) for of_session in found),
        kinds_by_session={
            kind: tuple(sum(j.is_corrupted and j.kind == kind for j in of_session) for of_session in found)
            for kind in _kind_counts(corrupted)
        },
        session_kinds=_kind_counts([judgement for judgement, _ in firsts]),
        unknown_kinds=dict(sorted(unknown.items())),
        origins=_origin_counts([judgement.origin for judgement in corrupted]),
        session_origins=_origin_counts([origin for _, origin in firsts]),
    )


def _by_session(turns: Sequence[TurnRecord], judgements: Sequence[Judgement]) -> list[_Pairs]:
    sessions: dict[int, _Pairs] = defaultdict(list)
    for turn, judgement in sorted(zip(turns, judgements, strict=True), key=lambda pair: pair[0].key):
        sessions[turn.session].append((turn, judgement))
    return list(sessions.values())


def _first_corrupted(pairs: _Pairs) -> tuple[Judgement, Origin] | None:
    """The first corrupted turn of a session, and where the session's corruption came from.

    A turn may read stale keys, answer right, and poison the session's next turn by what it wrote. That session has
    poisoned itself: it is primary, though its first corrupted turn is secondary.
    """
    had_stale_read = False
    for turn, judgement in pairs:
        had_stale_read |= turn.machine is not None and turn.machine.has_own_stale_read
        if judgement.is_corrupted:
            assert judgement.origin is not None, "a corrupted turn has an origin"
            return judgement, Origin.PRIMARY if had_stale_read else judgement.origin
    return None


def _kind_counts(judgements: Sequence[Judgement]) -> dict[str, int]:
    counts = Counter(judgement.kind for judgement in judgements)
    return {str(kind): counts[kind] for kind in CORRUPTION_KINDS if counts[kind]}


def _origin_counts(origins: Sequence[Origin | None]) -> dict[str, int]:
    counts = Counter(origins)
    return {str(origin): counts[origin] for origin in Origin}
