"""The planted call where no single JSON object follows its name: wrapped in JSON, in tags, or as a line of Python.

Owns: three ways in which public model families write a call, read against the planted one: an object that holds name
and arguments in any order (Hermes, OpenAI), a tag for each parameter (Qwen3-Coder, GLM, MiniMax, DeepSeek's DSML), and
keyword arguments (Llama 4). Does not own: a name and its object (`text_call`). Only the planted call is looked for, so
what is found is right. Floor 3. Source: public chat templates of these models.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from typing import Any

from results.oracles.same_json import is_same_json
from results.records import ExpectedCall

Place = tuple[int, int, int]
"""Begin, begin of the arguments, end."""

_TRIED_MAX = 8
_ARGUMENT_KEYS = ("arguments", "parameters", "args", "input")
_TAG = r"<\s?/?[\w｜▁:.-]{1,40}(?:\s+[\w-]+=\"[^\"<>]{0,80}\"|=[\w.-]{1,128})*\s?>"  # noqa: RUF001
_TAGGED = re.compile(
    # One parameter: the key as the tag's value, its `name`, or the text of a tag of its own.
    r"\s*(?:<[｜\w▁]{0,12}parameter(?:=(?P<plain>[^<>\n]{1,128})|\s+name=\"(?P<named>[^\"<>\n]{1,128})\"[^<>]{0,60})>"  # noqa: RUF001
    r"|<arg_key>(?P<keyed>[^<>\n]{1,128})</arg_key>\s*<arg_value>)"
    r"(?P<value>.*?)(?:</[｜\w▁]{0,12}parameter>|</arg_value>)",  # noqa: RUF001
    re.DOTALL,
)
_BEHIND_NAME = re.compile(r"\"?(?:\s+[\w-]+=\"[^\"<>]{0,80}\")*\s?>?\s*")
_OPENING = re.compile(rf"(?:{_TAG}\s*)*(?:<[｜\w▁]{{0,12}}(?:invoke\s+name=\"|function=))?\Z")  # noqa: RUF001
# Not strict, as arguments of calls are read: models write line breaks into strings as they are.
_DECODER = json.JSONDecoder(strict=False)


def spelled_in(text: str, expected: ExpectedCall) -> Place | None:
    """Where the planted call stands in one of these spellings, the markup right in front of it included."""
    if not expected.name or expected.name not in text:
        return None
    return _wrapped(text, expected) or _tagged(text, expected) or _keywords(text, expected)


def _wrapped(text: str, expected: ExpectedCall) -> Place | None:
    """`{"arguments": {...}, "name": "f"}`, also as the `function` of an entry; the arguments may be text."""
    at = 0
    for _ in range(_TRIED_MAX):
        at = text.find("{", at)
        if at < 0:
            return None
        try:
            found, end = _DECODER.raw_decode(text, at)
        except (ValueError, RecursionError):
            at += 1
            continue
        if _is_call(found, expected) or _is_call(found.get("function"), expected):
            return at, at, end
        at = end
    return None


def _is_call(found: Any, expected: ExpectedCall) -> bool:
    if not isinstance(found, dict) or found.get("name") != expected.name:
        return False
    given: Any = next((found[key] for key in _ARGUMENT_KEYS if key in found), {})
    if isinstance(given, str):
        try:
            given = json.loads(given, strict=False)
        except (ValueError, RecursionError):
            return False
    return is_same_json(given, expected.arguments)


def _tagged(text: str, expected: ExpectedCall) -> Place | None:
    for place in _places(text, expected.name):
        opening = _OPENING.search(text[:place][-240:])
        if opening is None or not opening[0]:
            continue
        end = _parameters_end(text, place + len(expected.name), expected.arguments)
        if end is not None:
            return place - len(opening[0]), place + len(expected.name), end
    return None


def _parameters_end(text: str, at: int, arguments: dict[str, Any]) -> int | None:
    """Where the parameters end that stand right behind a name, if they are the planted ones."""
    gap = _BEHIND_NAME.match(text, at)
    at = gap.end() if gap is not None else at
    missing = dict(arguments)
    while missing:
        match = _TAGGED.match(text, at)
        if match is None:
            return None
        key = match["plain"] or match["named"] or match["keyed"]
        if key not in missing or not _is_value(match["value"], missing.pop(key)):
            return None
        at = match.end()
    return at if _TAGGED.match(text, at) is None else None


def _is_value(text: str, value: Any) -> bool:
    """Text as it stands, but for one line break on either side; everything else as JSON, or as Python says it."""
    plain = text.removeprefix("\n").removesuffix("\n")
    if isinstance(value, str):
        return value in (text, plain)
    try:
        return is_same_json(json.loads(plain), value)
    except (ValueError, RecursionError):
        return plain.strip() == repr(value)


def _keywords(text: str, expected: ExpectedCall) -> Place | None:
    """`f(key="text", other=[1, None])`."""
    for place in _places(text, f"{expected.name}("):
        if text[place - 1 : place].isidentifier() or text[place - 1 : place].isdigit():
            continue
        for end in _closings(text, place):
            if _is_keyword_call(text[place:end], expected):
                begin = len(text[:place].rstrip("[ "))
                return begin, place + len(expected.name), end
    return None


def _is_keyword_call(text: str, expected: ExpectedCall) -> bool:
    try:
        call = ast.parse(text, mode="eval").body
        if not isinstance(call, ast.Call) or call.args:
            return False
        given = {word.arg: ast.literal_eval(word.value) for word in call.keywords if word.arg is not None}
    except (SyntaxError, ValueError, TypeError, OverflowError, RecursionError, MemoryError):
        # Python, but no value: a set of dicts is a TypeError, a complex number out of range an OverflowError.
        return False
    return len(given) == len(call.keywords) and is_same_json(given, expected.arguments)


def _places(text: str, wanted: str) -> Iterator[int]:
    place = text.find(wanted)
    for _ in range(_TRIED_MAX):
        if place < 0:
            return
        yield place
        place = text.find(wanted, place + len(wanted))


def _closings(text: str, at: int) -> Iterator[int]:
    """The ends of the first few stretches that a bracket closes."""
    for _ in range(_TRIED_MAX):
        at = text.find(")", at) + 1
        if at == 0:
            return
        yield at
