"""The first corrupted turn of a run: what was expected, what was received, and the race behind it.

Owns: choosing the turn, spelling both texts alike, two lines on the race. Floor 3. Source: ours.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass

from results.findings import Judgement, Origin
from results.oracles.judge import origin_of
from results.records import MachineEvidence, StaleRead, TurnRecord
from results.report.words import listed, plural, ranges


@dataclass(frozen=True, slots=True)
class Witness:
    """A corrupted turn and its judgement."""

    turn: TurnRecord
    judgement: Judgement


def first_corrupted(turns: Iterable[TurnRecord], judgements: Iterable[Judgement]) -> Witness | None:
    """The corrupted turn that was due first, if there is one. Same order for both, one judgement a turn."""
    pairs = ((turn, judgement) for turn, judgement in zip(turns, judgements, strict=True) if judgement.is_corrupted)
    first = min(pairs, key=lambda pair: (pair[0].scheduled_ns, pair[0].key), default=None)
    return None if first is None else Witness(*first)


def received_text(turn: TurnRecord) -> str:
    """Everything that the reply said, calls as `name arguments`."""
    calls = [f"{call.name} {call.arguments}" for call in turn.tool_calls]
    return "\n".join([turn.content, *calls] if turn.content else calls) or "(nothing)"


def expected_text(turn: TurnRecord) -> str:
    """The planted call as `name arguments`, spelled as the reply spells its own JSON where they agree longest.

    Nothing where nobody knows the right answer.
    """
    if turn.expected is None:
        return turn.expected_word or ""
    received = received_text(turn)
    name, arguments = turn.expected.name, turn.expected.arguments
    separators = ((", ", ": "), (",", ":"))
    spellings = [f"{name} {json.dumps(arguments, ensure_ascii=False, separators=pair)}" for pair in separators]
    return max(spellings, key=lambda text: difference_at(text, received))


def difference_at(expected: str, received: str) -> int:
    """Index of the first character that differs; the shorter length where one text begins the other."""
    differing = (index for index, (one, other) in enumerate(zip(expected, received, strict=False)) if one != other)
    return next(differing, min(len(expected), len(received)))


def race_lines(turn: TurnRecord) -> tuple[str, str]:
    """What the machine saw behind a corrupted turn, in two lines."""
    machine, origin = turn.machine, origin_of(turn.machine)
    if machine is None:
        return "no evidence: the server does not say what its cache did", "compare with an arm whose host tier is off"
    if origin is Origin.PRIMARY and not (machine.stale_reads or machine.torn_reads):
        return (
            f"its decode made {plural(machine.decode_stale_reads, 'stale page read')}, its prefill none:",
            "it began before the hand-off of these pages was over",
        )
    if origin is Origin.PRIMARY:
        return _stale_line(machine), _worst_line(machine)
    if origin is Origin.SECONDARY:
        return (
            f"no stale read of its own, but {plural(machine.poisoned_reads, 'read')} of poisoned pages:",
            "an earlier prefill read stale keys, and what it wrote for its new tokens was reused",
        )
    return "unexplained: the machine saw neither a stale nor a poisoned read behind it", "please report this run"


def _stale_line(machine: MachineEvidence) -> str:
    pools = sorted({read.pool for read in machine.stale_sample})
    where = f" of {listed(pools)}" if pools else ""
    torn = f" ({machine.torn_reads:,} torn)" if machine.torn_reads else ""
    return (
        f"its prefill made {plural(machine.stale_reads, 'stale page read')}{torn}{where}, "
        f"in {plural(machine.stale_layers, 'layer')}"
    )


def _worst_line(machine: MachineEvidence) -> str:
    if not machine.stale_sample:
        return "which pages, and by how much, was not recorded"
    worst = max(machine.stale_sample, key=lambda read: read.late_us)
    return f"{worst.pool}[layer {worst.layer}] {_pages(worst)} read {_lateness(worst)}"


def _pages(read: StaleRead) -> str:
    return f"page{'' if len(read.pages) == 1 else 's'} {ranges(read.pages)}:"


def _lateness(read: StaleRead) -> str:
    arrived = "it" if len(read.pages) == 1 else "they"
    if read.late_us < 0:
        return f"before {arrived} arrived (when is not known)"
    return f"{read.late_us:,.1f} us before {arrived} arrived"
