"""Oracle: does the reply hold the word that was asked for?

Owns: the right answer of a task in plain text. The word is a made-up one that stands in the prompt, so nobody says it
by chance, and a reply that is right but for words around it is right. Does not own: calls (`exact_call`). Floor 3.
Source: ours.
"""

from __future__ import annotations

import re

from results.findings import Finding, Kind
from results.oracles.context import JudgeContext
from results.oracles.contract import Oracle, passed, span_of, unknown, violated
from results.oracles.reply import Ending, Reply

NAME = "exact_word"
_ENDED = (Ending.DONE, Ending.LIMIT)


def judge(reply: Reply, context: JudgeContext) -> list[Finding]:
    del context
    word, turn = reply.turn.expected_word, reply.turn
    if word is None:
        return []
    if says(turn.content, word):
        return passed(NAME)
    if reply.ending not in _ENDED:
        return unknown(NAME, "the reply did not come to its own end")
    if reply.ending is Ending.LIMIT:
        return unknown(NAME, f"the limit on tokens ended the reply before '{word}' came")
    if says(turn.reasoning, word) and not turn.content.strip():
        return unknown(NAME, f"'{word}' stands in the reasoning, and no answer follows")
    reason = f"the word '{word}' was asked for, and is not in the reply"
    return [violated(NAME, Kind.WRONG_WORD, reason, span=span_of("content", turn.content, 0, len(turn.content)))]


ORACLE = Oracle(NAME, "Does the reply hold the word that was asked for?", judge)


def says(text: str, word: str) -> bool:
    """As a word of its own, in capitals or not. Markup and scripts that put no blanks between words may touch it."""
    return re.search(rf"(?<![a-z0-9]){re.escape(word)}(?![a-z0-9])", text, re.IGNORECASE) is not None
