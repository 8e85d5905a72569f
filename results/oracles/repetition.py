"""Oracle: did the reply run in a circle until the limit on tokens stopped it?

Owns: loops at the end of a reply that hit the limit. A reply that repeats itself and then stops by itself is a
matter of style (tables, verses, padding), and is never flagged. Numbers may count up from repeat to repeat, since
loops often count; where they jump about, they are data, and the text may be a table.
Floor 3. Source: ours; the period comes from the failure function of Knuth, Morris and Pratt (1977), section 2.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise

from results.findings import Finding, Kind, Severity
from results.oracles.context import JudgeContext
from results.oracles.contract import Oracle, passed, span_of, unknown, violated
from results.oracles.reply import Ending, Reply, is_cut_planted

NAME = "repetition"

TAIL_CHARACTERS_MAX = 1_200
LOOP_CHARACTERS_MIN = 80
LOOP_TIMES_MIN = 5
LOOP_SHARE_MIN = 0.4
"""A loop that fills less of the looked-at tail than this may be a legitimate table that the limit happened to cut."""
STEPS_PER_SLIP = 4
STEPS_MAX = 3
"""A column of numbers that counts has one step. A slip or a new start adds another, at most one in four and no more
than this: of a few steps, two different ones are data already."""
NUMBER_DIGITS_MAX = 18

_DIGITS = re.compile(r"\d+")
_FILLER = re.compile(r"[\s\d0A=_*#.,;|+-]+")
"""What tables, rulers, zeros and base64 padding are made of: sound text that the limit may cut anywhere."""


@dataclass(frozen=True, slots=True)
class Loop:
    """The text from `begin` to its end is `times` repeats of `unit` (with each number written as 0).

    has_data: the numbers at some place of the unit neither stay, nor count by a step, nor go round.
    """

    begin: int
    times: int
    unit: str
    has_data: bool


def judge(reply: Reply, context: JudgeContext) -> list[Finding]:
    del context
    if reply.ending is not Ending.LIMIT or not reply.parts or reply.is_planted:
        return []
    field, text = reply.parts[-1]
    loop = loop_at_end(text)
    if loop is None or is_cut_planted(reply):
        return passed(NAME)
    if _FILLER.fullmatch(loop.unit):
        return unknown(NAME, f"the limit on tokens cut a run of {loop.unit[:20]!r}, which may be a table or padding")
    if loop.has_data:
        return unknown(NAME, "the limit on tokens cut rows that differ in their numbers, which may be a table")
    reason = f"{loop.times} times {loop.unit.strip()[:40]!r} until the limit on tokens"
    span = span_of(field, text, loop.begin, len(text))
    return [violated(NAME, Kind.REPETITION, reason, severity=Severity.STRONG, span=span)]


ORACLE = Oracle(NAME, "Does the reply loop until the limit on tokens?", judge)


def loop_at_end(text: str) -> Loop | None:
    """The loop that a text ends in, if it is long enough to be no accident."""
    tail_begin = max(0, len(text) - TAIL_CHARACTERS_MAX)
    plain, offsets = _numbers_as_zero(text[tail_begin:])
    # A loop of enough repeats holds its last few characters at least this often; most texts do not, and end here.
    if plain.count(plain[-8:]) < LOOP_TIMES_MIN - 1:
        return None
    period, length = _periodic_suffix(plain)
    if length < LOOP_CHARACTERS_MIN or length < LOOP_TIMES_MIN * period or length < LOOP_SHARE_MIN * len(plain):
        return None
    begin, unit = tail_begin + offsets[len(plain) - length], plain[len(plain) - period :]
    return Loop(begin, length // period, unit, _has_data(text[begin:], unit.count("0")))


def _has_data(text: str, numbers_per_unit: int) -> bool:
    # The first and the last number may be cut.
    numbers = [int(number) for number in _DIGITS.findall(text)[1:-1] if len(number) <= NUMBER_DIGITS_MAX]
    return any(_is_data(numbers[place::numbers_per_unit]) for place in range(numbers_per_unit))


def _is_data(column: list[int]) -> bool:
    steps = [after - before for before, after in pairwise(column)]
    return len(set(steps)) > min(STEPS_MAX, 1 + len(steps) // STEPS_PER_SLIP)


def _numbers_as_zero(text: str) -> tuple[str, list[int]]:
    """The text with each number written as 0, and where each character of it came from."""
    pieces: list[str] = []
    offsets: list[int] = []
    begin = 0
    for match in _DIGITS.finditer(text):
        pieces += (text[begin : match.start()], "0")
        offsets += range(begin, match.start() + 1)
        begin = match.end()
    pieces.append(text[begin:])
    offsets += range(begin, len(text))
    return "".join(pieces), offsets


def _periodic_suffix(text: str) -> tuple[int, int]:
    """(period, length) of the suffix that is periodic over the longest stretch, measured in repeats times length."""
    backwards = text[::-1]
    border = [0] * len(backwards)
    matched = 0
    period, length = 1, 0
    for end in range(1, len(backwards)):
        while matched and backwards[end] != backwards[matched]:
            matched = border[matched - 1]
        if backwards[end] == backwards[matched]:
            matched += 1
        border[end] = matched
        here = end + 1 - matched
        # A prefix with at least `LOOP_TIMES_MIN` periods is a loop; the longest such prefix is the whole loop.
        if end + 1 >= LOOP_TIMES_MIN * here:
            period, length = here, end + 1
    return period, length
