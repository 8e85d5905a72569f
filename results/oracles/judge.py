"""One verdict, one primary kind and one origin for a turn.

Owns: how the oracles' findings become a judgement. UNKNOWN is never a pass, and what is no corruption never becomes
one. Does not own: any measure of its own. Floor 3. Source: ours.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from results.findings import CORRUPTION_KINDS, Finding, Judgement, Kind, Origin, Severity, Verdict
from results.oracles import ORACLES
from results.oracles.blame import blame_of
from results.oracles.context import JudgeContext
from results.oracles.contract import Oracle
from results.oracles.reply import read_reply
from results.records import MachineEvidence, TurnRecord

MODELS_OWN = frozenset({Kind.DAMAGED_ARGUMENTS, Kind.WRONG_CALL, Kind.REPETITION, Kind.EMPTY_REPLY})
"""What a model may do by itself: corruption only where it was known to be able to answer right."""

_PRIORITY = {kind: place for place, kind in enumerate(Kind)}


def judge_turn(turn: TurnRecord, context: JudgeContext, oracles: Sequence[Oracle] = ORACLES) -> Judgement:
    """Ask every oracle, and say what their answers come to.

    A turn is corrupted if any oracle found a corruption. It is OK only if some oracle passed it, none found a
    corruption, and none had to say UNKNOWN. Where nobody knows the right answer, only what no model does by itself is
    corruption.
    """
    reply = read_reply(turn, context.max_tokens)
    answers = [finding for oracle in oracles for finding in oracle.judge(reply, context)]
    if not turn.has_answer:
        answers = list(map(_as_unproven, answers))
    findings = tuple(finding for finding in answers if finding.verdict is not Verdict.OK)
    verdict, kind = _conclusion(answers, findings)
    if verdict is not Verdict.VIOLATED:
        return Judgement(turn.session, turn.turn, verdict, kind, None, findings)
    assert kind is not None, "a corruption has a kind"
    return Judgement(turn.session, turn.turn, verdict, kind, origin_of(turn.machine), findings, blame_of(reply, kind))


def judge_turns(turns: Iterable[TurnRecord], context: JudgeContext) -> list[Judgement]:
    return [judge_turn(turn, context) for turn in turns]


def _as_unproven(finding: Finding) -> Finding:
    if finding.verdict is not Verdict.VIOLATED or finding.kind not in MODELS_OWN:
        return finding
    reason = f"{finding.reason}; no right answer is known, and a model may do this by itself"
    return replace(finding, verdict=Verdict.UNKNOWN, severity=Severity.NOTE, reason=reason)


def _conclusion(answers: Sequence[Finding], findings: Sequence[Finding]) -> tuple[Verdict, Kind | None]:
    if not findings:
        return (Verdict.OK if answers else Verdict.UNKNOWN), None
    named = sorted((one for one in findings if one.kind is not None), key=lambda one: _PRIORITY[one.kind or Kind.QUIRK])
    kinds = [one.kind for one in named]
    found = next((one.kind for one in named if one.verdict is Verdict.VIOLATED), None)
    if found in CORRUPTION_KINDS:
        return Verdict.VIOLATED, found
    if any(finding.verdict is Verdict.UNKNOWN for finding in findings):
        return Verdict.UNKNOWN, kinds[0] if kinds else None
    return Verdict.OK, None


def origin_of(machine: MachineEvidence | None) -> Origin:
    """Where the corruption of a corrupted turn came from, by what the machine saw."""
    if machine is None:
        return Origin.UNOBSERVED
    if machine.has_own_stale_read:
        return Origin.PRIMARY
    if machine.poisoned_reads:
        return Origin.SECONDARY
    return Origin.UNEXPLAINED
