"""Is a piece of JSON text the beginning of a known value?

Owns: reading JSON that stops anywhere, against the value that it should become: keys in any order, any white space, any
escapes. Does not own: text that is whole (`same_json`). Floor 3. Source: RFC 8259; a descent over its grammar.
"""

from __future__ import annotations

import json
import re
from typing import Any

from results.oracles.same_json import is_same_json

_HALF_ESCAPE = re.compile(r"\\(?:u[0-9a-fA-F]{0,3})?\Z")
_SPACE = " \t\n\r"
_DECODER = json.JSONDecoder()


class _RanOut(Exception):
    """The text ended where more was to come: so far it was right. It never leaves this module."""


def is_beginning(text: str, value: Any) -> bool:
    """Could more text make this the JSON of `value`? A text that is already whole counts, if it is the value."""
    try:
        end = _skip(text, _value(text, _skip(text, 0), value))
    except _RanOut:
        return True
    except (ValueError, RecursionError):
        return False
    return end == len(text)


def _skip(text: str, at: int) -> int:
    while at < len(text) and text[at] in _SPACE:
        at += 1
    return at


def _expect(text: str, at: int, characters: str) -> str:
    if at >= len(text):
        raise _RanOut
    if text[at] not in characters:
        raise ValueError(at)
    return text[at]


def _value(text: str, at: int, value: Any) -> int:
    """The end of the value at `at`. Raises: ValueError where it is another one."""
    if at >= len(text):
        raise _RanOut
    if isinstance(value, dict):
        return _object(text, at, value)
    if isinstance(value, list | tuple):
        return _array(text, at, value)
    if isinstance(value, str):
        return _string(text, at, (value,))[1]
    return _scalar(text, at, value)


def _object(text: str, at: int, value: dict[str, Any]) -> int:
    _expect(text, at, "{")
    missing = dict(value)
    at = _skip(text, at + 1)
    while missing:
        key, at = _string(text, at, tuple(missing))
        at = _skip(text, at)
        _expect(text, at, ":")
        at = _skip(text, _value(text, _skip(text, at + 1), missing.pop(key)))
        if _expect(text, at, ",}") == "}":
            break
        at = _skip(text, at + 1)
    if missing:
        raise ValueError(at)
    _expect(text, at, "}")
    return at + 1


def _array(text: str, at: int, value: list[Any] | tuple[Any, ...]) -> int:
    _expect(text, at, "[")
    at = _skip(text, at + 1)
    for index, item in enumerate(value):
        if index:
            _expect(text, at, ",")
            at = _skip(text, at + 1)
        at = _skip(text, _value(text, at, item))
    _expect(text, at, "]")
    return at + 1


def _string(text: str, at: int, candidates: tuple[str, ...]) -> tuple[str, int]:
    """Which of the candidates stands at `at`, and where it ends."""
    _expect(text, at, '"')
    end = at + 1
    while end < len(text) and text[end] != '"':
        end += 2 if text[end] == "\\" else 1
    if end < len(text):
        whole = json.loads(text[at : end + 1], strict=False)
        if whole not in candidates:
            raise ValueError(at)
        return whole, end + 1
    begun = _begun(text[at + 1 :])
    if any(candidate.startswith(begun) for candidate in candidates):
        raise _RanOut
    raise ValueError(at)


def _begun(text: str) -> str:
    """What a string says whose end is missing, without half an escape or half a surrogate pair at its end.

    Raises: ValueError where it is no beginning of any string.
    """
    for whole in (text, _HALF_ESCAPE.sub("", text)):
        try:
            said: str = json.loads(f'"{whole}"', strict=False)
        except ValueError:
            continue
        return said[:-1] if said and "\ud800" <= said[-1] <= "\udbff" else said
    raise ValueError(text)


def _scalar(text: str, at: int, value: Any) -> int:
    end = at
    while end < len(text) and text[end] not in ",]} \t\n\r":
        end += 1
    if end < len(text):
        if not is_same_json(_DECODER.raw_decode(text[at:end])[0], value):
            raise ValueError(at)
        return end
    begun, whole = text[at:end], json.dumps(value)
    # A number may be spelled otherwise (1.0 and 1) and go on: then its common digits are all that can be compared.
    if whole.startswith(begun) or (begun.startswith(whole) and not begun[len(whole) :].strip("0.eE+-")):
        raise _RanOut
    raise ValueError(at)
