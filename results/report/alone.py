"""The part of a report about turns that were asked again alone.

Owns: which turns are shown, and its fields. Does not own: the words (`results/serial/words`) or formats. Floor 3.
Source: ours.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from results.errors import NewerRun
from results.findings import Verdict
from results.report.words import harmless
from results.serial.record import SerialRecord, SerialTurn
from results.serial.store import read_serial
from results.serial.words import VERDICT_WORDS, facts_of

ROWS_MAX = 40
HEADINGS = ("session", "turn", "why asked", "under load", "alone", "verdict", "why")


@dataclass(frozen=True, slots=True)
class AlonePart:
    """facts: label and sentence. rows: under HEADINGS, the turns that are not simply the same. left_out: further ones.
    Texts are harmless to show."""

    facts: tuple[tuple[str, str], ...]
    rows: tuple[tuple[str, ...], ...]
    left_out: int


def alone_of(folder: Path) -> tuple[AlonePart | None, tuple[str, ...]]:
    """The part, None where nothing was asked again; and what could not be read."""
    try:
        record, fault = read_serial(folder)
    except NewerRun as error:
        return None, (str(error),)
    return None if record is None else _part(record), (fault,) if fault is not None else ()


def _part(record: SerialRecord) -> AlonePart:
    shown = [turn for turn in record.turns if turn.verdict is not Verdict.OK or turn.was_wrong or turn.wrong_alone]
    return AlonePart(
        facts=tuple((label, harmless(text)) for label, text in facts_of(record)),
        rows=tuple(map(_row, shown[:ROWS_MAX])),
        left_out=len(shown[ROWS_MAX:]),
    )


def _row(turn: SerialTurn) -> tuple[str, ...]:
    why = "by chance" if turn.is_sampled else "it was wrong" if turn.was_wrong else "it looked wrong"
    alone = f"{turn.wrong_alone} of {turn.alone} wrong"
    under_load = "wrong" if turn.was_wrong else "right, or nobody knows"
    return (
        str(turn.session),
        str(turn.turn),
        why,
        under_load,
        alone,
        VERDICT_WORDS[turn.verdict],
        harmless(turn.reason),
    )
