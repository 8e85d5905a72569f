"""The planted call as text: found in what a reply says, in any family's markup or in none.

Owns: a name and its JSON object, with whatever markup there is between and in front of them. Only the planted call is
looked for, so what is found is right. Does not own: spellings of another build (`spelled_call`), what it proves
(`exact_call`, `first_token`, `blame`). Floor 3. Source: ours.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

from results.oracles.same_json import is_same_json
from results.oracles.spelled_call import spelled_in
from results.records import ExpectedCall

_LOOKED_AT_MAX = 8
_LEAD_CHARACTERS_MAX = 240

# What formats put between a call's name and its arguments, and in front of its name. No prose fits through either.
# Possessive and atomic, so that hostile text (a page of quotes or spaces) costs no more than its length.
_GAP = re.compile(
    r"(?>\s++|\"?,?\s*+\"(?:arguments|parameters|args)\"\s*+:|<\|constrain\|>json|<[^<>{}\n]{1,60}+>|```(?:json)?|:\d++|[>(=:\"])*+"
)
_LEAD = re.compile(
    r"(?>\s++|<\|start\|>assistant|<\|channel\|>commentary to=|<[^<>\n]{1,80}+>"
    r"|\[TOOL_CALLS\]|```(?:json)?|functions?\.?|\"(?:type|name|function|id)\"\s*+:"
    r"|\"[\w-]*+\"\s*+,|[\[{(\"',=])++\Z"
)
# Not strict, as arguments of calls are read: models write line breaks into strings as they are.
_DECODER = json.JSONDecoder(strict=False)


@dataclass(frozen=True, slots=True)
class TextCall:
    """The planted call stands at [begin, end) of the text, the markup in front of it included.

    arguments_begin: where what may hold any text begins: the arguments, or a whole object that wraps them.
    """

    begin: int
    arguments_begin: int
    end: int


def planted_in(text: str, expected: ExpectedCall) -> TextCall | None:
    """Where a text spells the planted call."""
    named = _named_object(text, expected)
    if named is not None:
        return named
    place = spelled_in(text, expected)
    return None if place is None else TextCall(*place)


def _named_object(text: str, expected: ExpectedCall) -> TextCall | None:
    place = text.find(expected.name) if expected.name and "{" in text else -1
    for _ in range(_LOOKED_AT_MAX):
        if place < 0:
            return None
        after = place + len(expected.name)
        gap = _GAP.match(text, after)
        begin = gap.end() if gap is not None else after
        end = _object_end(text, begin, expected)
        if end is not None:
            head = text[max(0, place - _LEAD_CHARACTERS_MAX) : place]
            lead = _LEAD.search(head)
            return TextCall(place - (len(head) - lead.start() if lead is not None else 0), begin, end)
        place = text.find(expected.name, after)
    return None


def _object_end(text: str, begin: int, expected: ExpectedCall) -> int | None:
    if text[begin : begin + 1] != "{":
        return None
    try:
        found, end = _DECODER.raw_decode(text, begin)
    except (ValueError, RecursionError):
        return None
    return end if is_same_json(found, expected.arguments) else None
