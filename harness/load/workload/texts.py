"""The sentences that carry meaning: the system message's rules, a runbook's head, questions, a result's head.

Owns: wording. None of it may hold grammar marks, but for the reference in a question; so the rules describe the
brackets in words. Does not own: lengths and places (`runbook`, `sessions`). Floor 5.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

RULES = """\
You are the operations assistant of the {name} desk.
Each user keeps private notes. Some lines of the notes and of tool results are entries: a key between double square
brackets, then the name of a tool, then its arguments as JSON.
A user asks for one entry by its key between double round brackets.
Answer with the call of that entry and with nothing else: the same tool, the same arguments, the same values.
A key may name a second entry behind a bar; then the entry with both names is meant.
Never change an argument, never join two entries, and never use an entry of another user.
The procedures of the desk follow; they need no answer.
"""

QUESTIONS = (
    "Now perform entry {reference} exactly as written.",
    "Please carry out entry {reference} with exactly the arguments that are written there.",
    "The next step is entry {reference}; make this call and no other.",
    "Go on with entry {reference} and change none of its values.",
    "Make the call of entry {reference} as it stands in the notes.",
)

RESULT_HEADS = (
    "The call was accepted. The report of the desk follows.\n",
    "Done without a remark. The log of the operation follows.\n",
    "The operation has ended. Its full record follows.\n",
)


def system_head(name: str) -> str:
    """First lines of a group's system message; `name` tells the groups apart from the first line on."""
    return RULES.format(name=name)


def runbook_head(secrets: Sequence[str]) -> str:
    """First line of a private first message. The session's own words come first: no two messages begin alike."""
    first, *others = secrets
    words = " and ".join(others) if others else first
    return f"{first.capitalize()} notes. The words {first} and {words} belong to this user only.\n"


def question(rng: np.random.Generator, reference: str) -> str:
    return QUESTIONS[int(rng.integers(len(QUESTIONS)))].format(reference=reference)


def result_head(rng: np.random.Generator) -> str:
    return RESULT_HEADS[int(rng.integers(len(RESULT_HEADS)))]
