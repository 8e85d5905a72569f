"""What goes wrong with a reply outside its text: silence, a transport, a parser that is off; and a wrong word.

Owns: how a client's record of these looks. They are here because a judge must tell them apart, and from corruption.
Does not own: damage to the reply itself (`harness/planting/damage`). Source: public reports and quirks, in our words.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from benchmarks.corpus.calls import as_text
from harness.planting.damage.edits import without_call
from harness.planting.damage.scene import Damaged, Scene

_ERRORS = (
    "HTTP 503: overloaded",
    "the server put an error into its answer of status 200: out of memory",
    "connection reset by peer",
    "the answer is not JSON: <html>502",
    "no connection within 30 s",
)


def hang(rng: np.random.Generator, scene: Scene) -> Damaged:
    at = int(rng.integers(0, len(scene.turn.content) + 1))
    error = f"http://x/v1/chat/completions: nothing more came within {int(rng.integers(1, 600))} s"
    turn = without_call(scene.turn, scene.turn.content[:at], None, error=error, finished_ns=None)
    return Damaged(turn if at else replace(turn, first_token_ns=None), "after some text" if at else "from the start")


def transport_error(rng: np.random.Generator, scene: Scene) -> Damaged:
    if rng.random() < 0.2:
        return Damaged(without_call(scene.turn, scene.turn.content, "abort"), "aborted")
    turn = without_call(scene.turn, "", None, error=str(rng.choice(_ERRORS)), finished_ns=None)
    return Damaged(turn, "failed")


def unparsed_call(rng: np.random.Generator, scene: Scene) -> Damaged:
    family, text = as_text(rng, scene.expected)
    return Damaged(without_call(scene.turn, text), family)


def wrong_word(rng: np.random.Generator, scene: Scene) -> Damaged:
    """Of a task in plain text: fluent words, or the right one with a letter changed."""
    word = scene.turn.secrets[0]
    if rng.random() < 0.5:
        said, strength = scene.prose(rng, 2), "other words"
    else:
        at = int(rng.integers(len(word)))
        said, strength = f"The word is {word[:at]}{'q' if word[at] != 'q' else 'x'}{word[at + 1 :]}.", "one letter"
    return Damaged(replace(without_call(scene.turn, said), expected=None, expected_word=word), strength)
