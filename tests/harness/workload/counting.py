"""A stand-in tokenizer and an independent reader of the prompt grammar, for the workload's tests.

Owns: counting words and signs; finding facts and references without the product's code. Floor: tests. Source: ours.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

_TOKEN = re.compile(r" ?[A-Za-z]+|\d{1,3}|\s|[^\sA-Za-z\d]")
_FACT = re.compile(r"^\[\[([a-z0-9]+)(?:\|([a-z0-9]+))?\]\] (.+)$", re.MULTILINE)
_REFERENCE = re.compile(r"\(\(([a-z0-9]+)(?:\|([a-z0-9]+))?\)\)")
_MARK = re.compile(r"\[\[|\]\]|\(\(|\)\)")


def count_tokens(text: str) -> int:
    return len(_TOKEN.findall(text))


@dataclass(frozen=True, slots=True)
class Written:
    """A fact as it stands in a text."""

    key: str
    anchor: str | None
    body: str


def facts_in(text: str) -> list[Written]:
    return [Written(match[1], match[2], match[3]) for match in _FACT.finditer(text)]


def references_in(text: str) -> list[tuple[str, str | None]]:
    return [(match[1], match[2]) for match in _REFERENCE.finditer(text)]


def without_grammar(text: str) -> str:
    """The text with its facts and references cut out; marks that are left stand where none may be."""
    return _REFERENCE.sub("", _FACT.sub("", text))


def has_stray_marks(text: str) -> bool:
    return _MARK.search(without_grammar(text)) is not None


def text_of(messages: Iterable[Mapping[str, Any]]) -> str:
    """A conversation as a model sees it: contents and calls, one after the other."""
    parts = []
    for message in messages:
        parts.append(message["content"] or "")
        for call in message.get("tool_calls", ()):
            parts.append(f"{call['function']['name']} {call['function']['arguments']}\n")
    return "\n".join(parts)
