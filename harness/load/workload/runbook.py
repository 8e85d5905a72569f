"""Long messages: facts at chosen places in filler prose, to a length in tokens.

Owns: where facts stand. Does not own: what they say. Floor 5.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from harness.load.workload.calls import Call
from harness.load.workload.grammar import fact_line
from harness.load.workload.prose import Line, LineCounter


@dataclass(frozen=True, slots=True)
class Fact:
    """A call under a key. turn: of the tool result that holds it (anchored facts); 0 in a first message."""

    key: str
    anchor: str | None
    call: Call
    call_tokens: int
    turn: int = 0

    def line(self, counter: LineCounter) -> Line:
        return counter.line(fact_line(self.key, self.call.body, self.anchor))


@dataclass(frozen=True, slots=True)
class Placed:
    """A line that belongs at `position` tokens from the start of its message."""

    position: float
    line: Line


def spread(lines: Sequence[Line], copies: int, begin: float, end: float, rng: np.random.Generator) -> list[Placed]:
    """Each line `copies` times in [begin, end): one stratum for each placement, all lines once before any again."""
    count = len(lines) * copies
    order = [int(index) for _ in range(copies) for index in rng.permutation(len(lines))]
    offsets = rng.random(count)
    return [
        Placed(begin + (end - begin) * (stratum + offset) / count, lines[index])
        for stratum, (index, offset) in enumerate(zip(order, offsets.tolist(), strict=True))
    ]


def compose(head: Line, placed: Sequence[Placed], filler: Iterator[Line], target_tokens: int) -> Line:
    """Head, then filler with the placed lines in it.

    Returns: at most `target_tokens` long, and short of it by less than one line of filler; longer only if head and
        placed lines alone are longer.
    """
    waiting = sorted(placed, key=lambda item: item.position, reverse=True)
    owed = sum(item.line.tokens for item in waiting)
    texts, tokens = [head.text], head.tokens
    while True:
        if waiting and tokens >= waiting[-1].position:
            line = waiting.pop().line
            owed -= line.tokens
        else:
            line = next(filler)
            if tokens + line.tokens + owed > target_tokens:
                break
        texts.append(line.text)
        tokens += line.tokens
    # What is left had its place behind the last line of filler that fitted.
    texts += [item.line.text for item in reversed(waiting)]
    return Line("".join(texts), tokens + owed)
