"""One verdict, one primary kind and one origin for a turn.

Owns: how the oracles' findings become a judgement. UNKNOWN is never a pass, and what is no corruption never becomes
one. Does not own: any measure of its own. Floor 3. Source: ours.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from results.findings import CORRUPTION_KINDS, Finding, Judgement, Kind, Origin, Verdict
from results.oracles import ORACLES
from results.oracles.blame import blame_of
from results.oracles.context import JudgeContext
from results.oracles.contract import Oracle
from results.oracles.reply import read_reply
from results.records import MachineEvidence, TurnRecord

_PRIORITY = {kind: place for place, kind in enumerate(Kind)}


def judge_turn(turn: TurnRecord, context: JudgeContext, oracles: Sequence[Oracle] = ORACLES) -> Judgement:
    """Ask every oracle, and say what their answers come to.

    A turn is corrupted if any oracle found a corruption. It is OK only if some oracle passed it, none found a
    corruption, and none had to say UNKNOWN.
    """
    reply = read_reply(turn, context.max_tokens)
    answers = [finding for oracle in oracles for finding in oracle.judge(reply, context)]
    findings = tuple(finding for finding in answers if finding.verdict is not Verdict.OK)
    verdict, kind = _conclusion(answers, findings)
    if verdict is not Verdict.VIOLATED:
        return Judgement(turn.session, turn.turn, verdict, kind, None, findings)
    assert kind is not None, "a corruption has a kind"
    return Judgement(turn.session, turn.turn, verdict, kind, origin_of(turn.machine), findings, blame_of(reply, kind))


def judge_turns(turns: Iterable[TurnRecord], context: JudgeContext) -> list[Judgement]:
    return [judge_turn(turn, context) for turn in turns]


def _conclusion(answers: Sequence[Finding], findings: Sequence[Finding]) -> tuple[Verdict, Kind | None]:
    if not findings:
        return (Verdict.OK if answers else Verdict.UNKNOWN), None
    kinds = sorted((finding.kind for finding in findings if finding.kind is not None), key=_PRIORITY.__getitem__)
    if kinds and kinds[0] in CORRUPTION_KINDS:
        return Verdict.VIOLATED, kinds[0]
    if any(finding.verdict is Verdict.UNKNOWN for finding in findings):
        return Verdict.UNKNOWN, kinds[0] if kinds else None
    return Verdict.OK, None


def origin_of(machine: MachineEvidence | None) -> Origin:
    """Where the corruption of a corrupted turn came from, by what the machine saw."""
    if machine is None:
        return Origin.UNOBSERVED
    if machine.stale_reads or machine.torn_reads:
        return Origin.PRIMARY
    if machine.poisoned_reads:
        return Origin.SECONDARY
    return Origin.UNEXPLAINED
