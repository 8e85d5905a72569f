"""Damage to the end of a reply: loops to the limit, nothing at all, and ends that are no corruption.

Owns: these at several strengths. A limit, a filter and a cut are here because a judge must tell them apart, and from
corruption. Does not own: faults of the transport, which are no text. Pure but for the generator.
Floor 5. Source: the shapes of public reports (bugs.md section 4), in our own words.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from harness.planting.damage.edits import with_call, without_call
from harness.planting.damage.scene import Damaged, Scene
from results.records import TurnRecord

_UNITS = (
    "the table ",
    "的",
    "lantern kept lantern left ",
    "!",
    "and then and ",
    "I will check. ",
    "नमस्ते ",
    "сделать ",
    "ok ok ",
    "function call function ",
    "Let me look into this order again and again for you. ",
)


def repetition(rng: np.random.Generator, scene: Scene) -> Damaged:
    turn, dice = scene.turn, int(rng.integers(3))
    lead = turn.content or "Sure. "
    length = int(rng.integers(900, 4_000))
    if dice == 0:
        looped = "".join(f"{n}. [{n}] step " for n in range(1, length // 12))
        return Damaged(without_call(turn, lead + looped, "length"), "a list that counts up")
    unit = _UNITS[int(rng.integers(len(_UNITS)))]
    if dice == 1:
        return Damaged(without_call(turn, lead + unit * (length // len(unit)), "length"), "one phrase")
    half = turn.tool_calls[0].arguments[: len(turn.tool_calls[0].arguments) // 2]
    looped = half + unit * (length // len(unit))
    return Damaged(with_call(turn, arguments=looped, finish_reason="length"), "one phrase inside the arguments")


def empty(rng: np.random.Generator, scene: Scene) -> Damaged:
    turn = without_call(scene.turn, str(rng.choice(["", " ", "\n\n"])))
    tokens = int(rng.integers(0, 3)) if rng.random() < 0.5 else None
    return Damaged(replace(turn, completion_tokens=tokens), "no tokens counted" if tokens is None else "0 to 2 tokens")


def cut_stream(rng: np.random.Generator, scene: Scene) -> Damaged:
    return Damaged(_cut(rng, scene, None), "cut anywhere")


def truncated(rng: np.random.Generator, scene: Scene) -> Damaged:
    return Damaged(_cut(rng, scene, "length"), "cut anywhere")


def _cut(rng: np.random.Generator, scene: Scene, reason: str | None) -> TurnRecord:
    """Before the call is whole: behind that nothing is missing."""
    turn = scene.turn
    (call,) = turn.tool_calls
    at = int(rng.integers(len(turn.content) + len(call.arguments)))
    if at <= len(turn.content):
        return without_call(turn, turn.content[:at], reason)
    return with_call(turn, arguments=call.arguments[: at - len(turn.content)], finish_reason=reason)


def refused(rng: np.random.Generator, scene: Scene) -> Damaged:
    return Damaged(without_call(scene.turn, scene.prose(rng, 2), "content_filter"), "by a filter")
