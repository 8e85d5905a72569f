"""Damage to the call: point damage in the arguments, another call, no call, one wrong first token.

Owns: these damages at several strengths, and that each one changes what the call means. Does not own: damage that shows
in the text (`text.py`). Pure but for the generator. Floor 5. Source: the shapes of public reports (bugs.md section 4),
in our own words.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np

from harness.planting.damage.edits import with_call, without_call
from harness.planting.damage.scene import Damaged, Scene
from results.records import ToolCall

_ODD_TOKENS = ("0", "Tok", "的", "ing", "в", "_", "the", "für", "Ġa")


def _texts(arguments: dict[str, Any]) -> list[str]:
    return [name for name, value in arguments.items() if isinstance(value, str) and len(value) >= 4]


def _pick(rng: np.random.Generator, items: list[str]) -> str:
    return items[int(rng.integers(len(items)))]


def arguments(rng: np.random.Generator, scene: Scene) -> Damaged:
    """One of twelve ways; a way that this call has no room for falls through to a key that is gone."""
    turn, wanted = scene.turn, dict(scene.expected.arguments)
    strength = _damage(rng, wanted, scene, int(rng.integers(9)))
    if strength is not None and wanted != scene.expected.arguments:
        return Damaged(with_call(turn, arguments=json.dumps(wanted, ensure_ascii=False)), strength)
    text = turn.tool_calls[0].arguments
    dice = int(rng.integers(3))
    if dice == 0:
        return Damaged(with_call(turn, arguments=text[: int(rng.integers(1, len(text)))]), "JSON cut off, reply done")
    if dice == 1:
        return Damaged(with_call(turn, arguments="{}"), "no arguments at all")
    merged = text.replace('": ', "", 1)
    return Damaged(with_call(turn, arguments=merged), "a key and its value run together")


def _damage(rng: np.random.Generator, wanted: dict[str, Any], scene: Scene, dice: int) -> str | None:
    """Changes `wanted` in place, and says how."""
    names, texts = list(wanted), _texts(wanted)
    name = _pick(rng, texts) if texts else ""
    if dice == 0 and texts:
        at = int(rng.integers(len(wanted[name]) - 1))
        wanted[name] = wanted[name][:at] + wanted[name][at + 1 :]
        return "one character lost"
    if dice == 1 and texts:
        at = int(rng.integers(1, len(wanted[name]) - 1))
        wanted[name] = wanted[name][at:]
        return "the beginning of a text lost"
    if dice == 2 and texts:
        wanted[name] = wanted[name][::-1]
        return "a text reversed"
    if dice == 3 and texts and (secrets := [word for word in scene.turn.secrets if word in wanted[name]]):
        wanted[name] = wanted[name].replace(secrets[0], secrets[0][:-3] + secrets[0][-1] + secrets[0][-3:-1], 1)
        return "a digit of the secret word moved"
    numbers = [key for key in names if isinstance(wanted[key], int | float) and not isinstance(wanted[key], bool)]
    if dice == 4 and numbers:
        key = _pick(rng, numbers)
        wanted[key] = wanted[key] * 10 + 1
        return "one digit more"
    flags = [key for key in names if isinstance(wanted[key], bool)]
    if dice == 5 and flags:
        key = _pick(rng, flags)
        wanted[key] = not wanted[key]
        return "a flag turned"
    if dice == 6:
        del wanted[_pick(rng, names)]
        return "a key lost"
    if dice == 7:
        wanted[_pick(rng, names) + "_2"] = 1
        return "a key that nobody asked for"
    if dice == 8 and len(names) >= 2:
        one, other = names[:2]
        wanted[one], wanted[other] = wanted[other], wanted[one]
        return None if json.dumps(wanted[one]) == json.dumps(wanted[other]) else "two values swapped"
    return None


def lost_call(rng: np.random.Generator, scene: Scene) -> Damaged:
    sentences = int(rng.integers(1, 9))
    name = scene.expected.name
    if rng.random() < 0.3:
        told = f"I have called {name} and everything is fine. The result was 42."
        return Damaged(without_call(scene.turn, told), "a result made up")
    text = scene.prose(rng, sentences)
    return Damaged(without_call(scene.turn, text), "prose instead of the call")


def wrong_call(rng: np.random.Generator, scene: Scene) -> Damaged:
    turn, other, dice = scene.turn, scene.other, int(rng.integers(4))
    text = json.dumps(other.arguments, ensure_ascii=False)
    if dice == 0 and (other.name, other.arguments) != (scene.expected.name, scene.expected.arguments):
        foreign = [word for word in scene.foreign if word in text]
        if not foreign:
            harmless = {
                key: value for key, value in other.arguments.items() if not isinstance(value, str | list | dict)
            }
            text = json.dumps(harmless)
        if other.name != scene.expected.name:
            return Damaged(with_call(turn, other.name, text), "another tool, its own arguments")
    if dice == 1:
        name = scene.expected.name[::-1]
        return Damaged(with_call(turn, name), "a tool that there is none of")
    if dice == 2:
        twice = (*turn.tool_calls, replace(turn.tool_calls[0], id="again"))
        return Damaged(replace(turn, tool_calls=twice), "the call made twice")
    second = ToolCall("second", "search.web", '{"query": "x"}')
    return Damaged(replace(turn, tool_calls=(*turn.tool_calls, second)), "a second call that nobody asked for")


def first_token(rng: np.random.Generator, scene: Scene) -> Damaged:
    turn, odd = scene.turn, _pick(rng, list(_ODD_TOKENS))
    name = scene.expected.name
    if rng.random() < 0.5:
        return Damaged(with_call(turn, name=odd + name[3:]), "the name begins wrongly")
    spelled = f"{odd} {name} {turn.tool_calls[0].arguments}"
    return Damaged(without_call(turn, spelled), "one token in front, so that no parser sees the call")
