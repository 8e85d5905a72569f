# ruff: noqa: RUF001 - letters of other scripts and the bars of DeepSeek's tokens are what this file is about.
"""Damage that shows in the text: salad, foreign secrets, leaked control tokens, markup in the wrong channel.

Owns: these damages at several strengths. Does not own: the call (`calls.py`), the end of a reply (`ends.py`). Pure but
for the generator. Floor 5. Source: the shapes of public reports (bugs.md section 4), in our own words.
"""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np

from harness.planting.damage.edits import with_call, without_call
from harness.planting.damage.scene import Damaged, Scene

_LATIN = ("status", "Token", "region", "ing", "the", "lookup", "cit", "respect", "warm", "_ref", "kernel", "olive")
_FOREIGN = (
    ("слово", "ная", "тех", "год", "привет", "сделать"),
    ("的", "函数", "天气", "订单", "时间", "我们"),
    ("كتاب", "في", "هذا", "على", "مرحبا"),
    ("है", "समय", "और", "भारत"),
    ("ของ", "เวลา", "คน", "และ"),
    ("하는", "시간", "사람"),
    ("ῥῆμα", "λόγος", "και"),
    ("שלום", "ספר", "של"),
)
_BITS = ('"city":', "{", '"}', "4417", "],[", '":"', "0.5", "true}", '{"', "12,", "%s", "<<", "_id=", "||", "#3")
_CONTROL = (
    "<|im_start|>",
    "<|begin_of_text|>",
    "<｜begin▁of▁sentence｜>",
    "<|endoftext|>",
    "<|eot_id|>",
    "<|im_end|>",
    "<|reserved_special_token_7|>",
    "<0xE2>",
    "<start_of_turn>",
    "<|start_header_id|>",
    "<extra_id_3>",
)
_TAGS = ("<tool_call>", "</tool_call>", "</think>", "<think>", "<｜tool▁call▁begin｜>", "<|tool_call_end|>")


def _words(rng: np.random.Generator, scripts: int, count: int) -> str:
    families = [_LATIN, *(_FOREIGN[int(index)] for index in rng.choice(len(_FOREIGN), size=scripts, replace=False))]
    return " ".join(_one(rng, families[int(rng.integers(len(families)))]) for _ in range(count))


def _one(rng: np.random.Generator, words: tuple[str, ...]) -> str:
    return words[int(rng.integers(len(words)))]


def _inside(rng: np.random.Generator, text: str, piece: str) -> str:
    """The piece somewhere strictly inside the text."""
    at = int(rng.integers(1, max(2, len(text))))
    return text[:at] + piece + text[at:]


def _argument_text(rng: np.random.Generator, scene: Scene, piece: str) -> str | None:
    """The planted arguments as JSON with a piece put into one of the texts."""
    arguments = dict(scene.expected.arguments)
    names = [name for name, value in arguments.items() if isinstance(value, str) and len(value) > 2]
    if not names:
        return None
    name = names[int(rng.integers(len(names)))]
    arguments[name] = _inside(rng, arguments[name], piece)
    return json.dumps(arguments, ensure_ascii=False)


def salad(rng: np.random.Generator, scene: Scene) -> Damaged:
    turn, dice = scene.turn, int(rng.integers(7))
    lead = f"{turn.content} " if turn.content else "I will check that for you. "
    if dice == 0:
        text = _inside(rng, lead * 2, _one(rng, ("\ufffd", "\x00", "\x03", "\x9d")))
        return Damaged(replace(turn, content=text), "one broken character beside the right call")
    if dice in (1, 2, 3):
        count = (12, 24, 60)[dice - 1]
        return Damaged(
            replace(turn, content=lead + _words(rng, 3, count)), f"{count} woven words beside the right call"
        )
    if dice == 4:
        return Damaged(without_call(turn, lead + _words(rng, 2, 20)), "20 words of three scripts instead of the call")
    if dice == 5:
        bits = " ".join(_one(rng, _BITS + _LATIN[:4]) for _ in range(int(rng.integers(12, 40))))
        return Damaged(without_call(turn, bits), "pieces of JSON and Latin instead of the call")
    call = turn.tool_calls[0].arguments
    cut = call[: max(2, len(call) // 2)] + " " + _words(rng, 3, 15)
    return Damaged(with_call(turn, arguments=cut), "15 woven words inside the arguments")


def cross_talk(rng: np.random.Generator, scene: Scene) -> Damaged:
    turn, secret, dice = scene.turn, _one(rng, scene.foreign), int(rng.integers(4))
    if dice == 0:
        return Damaged(
            replace(turn, content=f"{turn.content} As you said, {secret}."), "in the text, the call is right"
        )
    if dice == 1:
        return Damaged(without_call(turn, f"Your word is {secret}, isn't it?", None), "in a stream that was cut")
    text = _argument_text(rng, scene, secret)
    if dice == 2 and text is not None:
        return Damaged(with_call(turn, arguments=text), "inside an argument")
    arguments = json.dumps(scene.expected.arguments | {"note": f"for {secret}"}, ensure_ascii=False)
    return Damaged(with_call(turn, arguments=arguments), "in an argument that nobody asked for")


def control_token(rng: np.random.Generator, scene: Scene) -> Damaged:
    turn, token, dice = scene.turn, _one(rng, _CONTROL), int(rng.integers(4))
    lead = turn.content or "I will take care of it."
    if dice == 0:
        return Damaged(replace(turn, content=f"{lead} {token} Done that way."), "one in the text, the call is right")
    if dice == 1:
        several = " ".join(_one(rng, _CONTROL) for _ in range(4))
        return Damaged(without_call(turn, f"{lead} {several} {lead}"), "four instead of the call")
    if dice == 2:
        return Damaged(without_call(turn, f"{lead}{token}user {lead}"), "a turn of the user made up, no call")
    text = _argument_text(rng, scene, token)
    if text is None:
        return Damaged(replace(turn, content=f"{lead}{token}{lead}"), "one in the text, the call is right")
    return Damaged(with_call(turn, arguments=text), "one inside an argument")


def markup(rng: np.random.Generator, scene: Scene) -> Damaged:
    turn, tag, dice = scene.turn, _one(rng, _TAGS), int(rng.integers(4))
    arguments = turn.tool_calls[0].arguments
    half = arguments[: max(1, len(arguments) // 2)]
    if dice == 0:
        text = _argument_text(rng, scene, tag)
        if text is not None:
            return Damaged(with_call(turn, arguments=text), "a tag inside an argument")
    if dice == 1:
        body = f'<tool_call>\n{{"name": "{scene.expected.name}", "arguments": {half}'
        return Damaged(without_call(turn, body), "a call opened and never closed")
    if dice == 2:
        return Damaged(
            without_call(turn, f"<think>\n{turn.content or 'They want this now.'}"), "reasoning never closed"
        )
    body = f"That is {'reli' + _one(rng, ('</think>', '</tool_call>')) + 'able'} so far. {turn.content}"
    return Damaged(replace(turn, content=body), "a closing tag inside a word, the call is right")
