"""The output differs: corrupt, or numeric, or not to be told? A differential verdict with its controls.

Owns: the argument over the replies that one turn got serially (twice, on a flushed cache) and under load (twice, the
same load). "It differs" decides nothing: sound servers differ from their serial replies in bf16, and a server that is
wrong in the same way whenever it is loaded agrees with itself. In this order:

1. a planted answer that serial replies give and a loaded one does not is CORRUPT: no near tie changes it;
2. a loaded reply that an oracle of text calls corrupt, and serial ones not, is CORRUPT;
3. equal replies are OK;
4. serial replies that differ from each other are no reference: UNKNOWN;
5. where log-probabilities are offered, the margin at the first split is held against the noise floor: below it a
   rounding may flip the token (NUMERIC), far above it none can (CORRUPT);
6. else UNKNOWN: nothing that was asked can tell.
Does not own: driving a server. Floor 3. Source: ours; the cases are those of public threads (peers.md section 0).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from results.findings import Judgement, Verdict
from results.oracles.logprobs import margin_at, shifts, split_of, tokens_of
from results.records import TurnRecord

NOISE_TOKENS_MIN = 100
"""Fewer shared tokens than this say little about the largest shift that rounding makes."""
FLIP_SHIFTS = 2.0
"""A near tie flips when both rivals move towards each other, each by no more than the noise floor."""
CORRUPT_SHIFTS = 10.0
"""Between these two the floor may have been measured too low, on too few tokens: UNKNOWN."""
ROUNDING_NATS_MAX = 1.0
"""Whatever the floor says: bf16 has eight significant bits, so logits of 16 to 32 lie 0.125 apart, and two of them may
move by a step or two each. Replies that agree may have run through one kernel, and one that does not through another.
"""


@dataclass(frozen=True, slots=True)
class Observed:
    """One reply and what the oracles say of it."""

    turn: TurnRecord
    judgement: Judgement


@dataclass(frozen=True, slots=True)
class TurnReplies:
    """All replies that one turn got."""

    serial: tuple[Observed, ...]
    loaded: tuple[Observed, ...]


@dataclass(frozen=True, slots=True)
class NoiseFloor:
    """The largest shift of a log-probability between replies that agree, and over how many tokens. None: not known."""

    logprob: float | None
    token_count: int


@dataclass(frozen=True, slots=True)
class Divergence:
    """OK, VIOLATED (corrupt), NUMERIC or UNKNOWN for one turn, and why.

    is_repeatable: both loads gave the same reply, and not the serial one: a comparison of loads is blind to it.
    """

    session: int
    turn: int
    verdict: Verdict
    reason: str
    is_repeatable: bool = False


@dataclass(frozen=True, slots=True)
class DivergenceReport:
    """What all turns come to. serial_differs, aa_differs, load_differs: turns whose replies differ between the serial
    passes, between the two loads, and between serial and load."""

    verdict: Verdict
    reason: str
    turns: tuple[Divergence, ...]
    noise: NoiseFloor
    serial_differs: int
    aa_differs: int
    load_differs: int


def judge_divergence(replies: Sequence[TurnReplies], *, is_trusted: bool = True) -> DivergenceReport:
    """Judge every turn, and the server by its worst one. is_trusted: as in `judge_turn_replies`."""
    noise = noise_floor(replies)
    turns = tuple(judge_turn_replies(one, noise, is_trusted=is_trusted) for one in replies)
    verdict, reason = _conclusion(turns)
    return DivergenceReport(
        verdict=verdict,
        reason=reason,
        turns=turns,
        noise=noise,
        serial_differs=sum(len({_said(one.turn) for one in each.serial}) > 1 for each in replies),
        aa_differs=sum(len({_said(one.turn) for one in each.loaded}) > 1 for each in replies),
        load_differs=sum(_differs(each) for each in replies),
    )


def noise_floor(replies: Sequence[TurnReplies]) -> NoiseFloor:
    """From replies that say the same as the serial one: their values differ by arithmetic alone."""
    moved: list[float] = []
    for each in replies:
        for reference in each.serial[:1]:
            expected = tokens_of(reference.turn)
            for one in (*each.serial[1:], *each.loaded):
                if _said(one.turn) == _said(reference.turn):
                    moved += shifts(expected, tokens_of(one.turn))
    return NoiseFloor(max(moved) if len(moved) >= NOISE_TOKENS_MIN else None, len(moved))


def judge_turn_replies(replies: TurnReplies, noise: NoiseFloor, *, is_trusted: bool = True) -> Divergence:
    """One turn's verdict.

    Args:
        is_trusted: alone, the model gives the planted answers. Of one that does not, a wrong answer under load proves
            nothing, and only a margin can show that rounding did not make it.
    """
    assert replies.serial and replies.loaded, "a divergence needs a reference and a reply"
    session, turn = replies.loaded[0].turn.key
    said = {_said(one.turn) for one in replies.loaded}
    is_repeatable = len(replies.loaded) > 1 and len(said) == 1 and _differs(replies)
    verdict, reason = _judge(replies, noise) if is_trusted else _by_split(replies, noise)
    return Divergence(session, turn, verdict, reason, is_repeatable)


def _judge(replies: TurnReplies, noise: NoiseFloor) -> tuple[Verdict, str]:
    serial, loaded = replies.serial, replies.loaded
    corrupt = next((one for one in loaded if one.judgement.is_corrupted), None)
    if corrupt is not None and not any(one.judgement.is_corrupted for one in serial):
        primary = corrupt.judgement.primary
        why = primary.reason if primary is not None else str(corrupt.judgement.kind)
        return Verdict.VIOLATED, f"right when served alone, and under load: {why}"
    if corrupt is not None:
        return Verdict.UNKNOWN, "corrupt when served alone as well: load is not what makes it so"
    unjudged = [one for one in (*serial, *loaded) if one.judgement.verdict is Verdict.UNKNOWN and not has_come(one)]
    if unjudged:
        return Verdict.UNKNOWN, f"{len(unjudged)} of its replies could not be judged"
    return _by_split(replies, noise)


def _by_split(replies: TurnReplies, noise: NoiseFloor) -> tuple[Verdict, str]:
    """What the texts themselves say, whatever the planted answer was."""
    serial, loaded = replies.serial, replies.loaded
    if len({_said(one.turn) for one in serial}) > 1:
        return Verdict.UNKNOWN, "the serial replies differ from each other, so there is no reference"
    different = next((one for one in loaded if _said(one.turn) != _said(serial[0].turn)), None)
    if different is None:
        return Verdict.OK, ""
    return _by_margin(serial[0].turn, different.turn, noise)


def _by_margin(serial: TurnRecord, loaded: TurnRecord, noise: NoiseFloor) -> tuple[Verdict, str]:
    expected_tokens = tokens_of(serial)
    is_aligned = "".join(token.text for token in expected_tokens).startswith(serial.content)
    split = split_of(expected_tokens, tokens_of(loaded), loaded.content if is_aligned else "")
    if split is None:
        return Verdict.UNKNOWN, "it differs, and no log-probability shows by how much"
    expected, rival = split.expected, split.rival
    margin, is_exact = margin_at(expected, rival)
    at = f"it differs from token {split.place} on, where '{rival.strip()}' lay "
    at += f"{'' if is_exact else 'at least '}{margin:.3g} nats behind '{expected.text.strip()}'"
    if noise.logprob is None:
        return Verdict.UNKNOWN, f"{at}, and only {noise.token_count} tokens are there to measure the noise by"
    floor = f"the noise floor is {noise.logprob:.3g} nats over {noise.token_count} tokens"
    if is_exact and margin <= FLIP_SHIFTS * noise.logprob:
        return Verdict.NUMERIC, f"{at}; {floor}: a near tie"
    if margin > max(ROUNDING_NATS_MAX, CORRUPT_SHIFTS * noise.logprob):
        return Verdict.VIOLATED, f"{at}; {floor}: rounding does not bridge that"
    return Verdict.UNKNOWN, f"{at}; {floor}: too close to tell"


def _conclusion(turns: Sequence[Divergence]) -> tuple[Verdict, str]:
    counts = Counter(turn.verdict for turn in turns)
    if not turns:
        return Verdict.UNKNOWN, "no turn was compared"
    for verdict, what in (
        (Verdict.VIOLATED, "are corrupt under load"),
        (Verdict.UNKNOWN, "could not be judged"),
        (Verdict.NUMERIC, "differ by rounding alone"),
    ):
        if counts[verdict]:
            first = next(turn for turn in turns if turn.verdict is verdict)
            where = f"(session {first.session} turn {first.turn}: {first.reason})"
            return verdict, f"{counts[verdict]} of {len(turns)} turns {what} {where}"
    return Verdict.OK, f"all {len(turns)} turns say the same alone and under load"


def has_come(one: Observed) -> bool:
    """A whole reply that no oracle can judge, since nobody knows the right one: its text can still be compared."""
    turn = one.turn
    return not turn.has_answer and turn.error is None and turn.finish_reason is not None


def _differs(replies: TurnReplies) -> bool:
    reference = _said(replies.serial[0].turn)
    return any(_said(one.turn) != reference for one in replies.loaded)


def _said(turn: TurnRecord) -> tuple[str, tuple[tuple[str, str], ...]]:
    return turn.content, tuple((call.name, call.arguments) for call in turn.tool_calls)


def gated(report: DivergenceReport, missing: str | None) -> tuple[Verdict, str]:
    """The verdict behind the vacuity gate: what was not exercised is not clean.

    Args:
        missing: what `vacuity.not_exercised` says of the loaded passes.
    """
    if report.verdict is Verdict.VIOLATED or missing is None:
        return report.verdict, report.reason
    return Verdict.UNKNOWN, missing
