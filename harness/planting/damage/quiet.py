"""Damage that no single reply shows: every one of these reads well, and the call is right.

Owns: replies that grow longer, and replies that say the same in other words. Only a comparison with other runs can find
them. Does not own: that comparison (`results/oracles/drift`, `divergence`). Pure but for the generator.
Floor 5. Source: the shapes of public reports (bugs.md section 4, S9 and S15), in our own words.
"""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np

from harness.planting.damage.edits import about_tokens, with_call
from harness.planting.damage.scene import Damaged, Scene


def longer(rng: np.random.Generator, scene: Scene) -> Damaged:
    """Three times as long: operators saw factors of two to five."""
    turn = scene.turn
    (call,) = turn.tool_calls
    wanted = 3 * (len(turn.content) + len(call.arguments))
    content = turn.content
    while len(content) + len(call.arguments) < wanted:
        content = f"{content} {scene.prose(rng, 3)}".strip()
    tokens = about_tokens(content, (call.arguments,))
    return Damaged(replace(turn, content=content, completion_tokens=tokens), "three times as long")


def other_words(rng: np.random.Generator, scene: Scene) -> Damaged:
    """The keys of the call in another order and spacing, and, where there is text, other text."""
    turn = scene.turn
    arguments = scene.expected.arguments
    names = list(arguments)
    shift = int(rng.integers(1, len(names))) if len(names) > 1 else 0
    moved = {name: arguments[name] for name in (*names[shift:], *names[:shift])}
    spelled = json.dumps(moved, ensure_ascii=False, separators=(" ,", " : "))
    content = scene.prose(rng, 2) if turn.content.strip() else turn.content
    return Damaged(with_call(replace(turn, content=content), arguments=spelled), "the same call, spelled otherwise")
