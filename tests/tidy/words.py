"""The rules that look at plain text: leftovers, words the glossary rejects, addresses, placeholder metadata.

Owns: the patterns. They are put together from halves, so that this file does not break its own rules. Floor: tests.
Source: the project's house rules (CONTRIBUTING.md).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import PurePosixPath

from tests.tidy.source import Finding

TextRule = Callable[[PurePosixPath, str], Iterator[Finding]]

_LEFTOVER = re.compile(r"\b(?:FIX" + r"ME|TO" + r"DO)\b")
_SYNONYMS = {
    re.compile("back" + "uped", re.IGNORECASE): "backed_up",
    re.compile(r"\bkv[ _-]" + r"blocks?\b", re.IGNORECASE): "page",
}
_MACHINE = re.compile(
    r"(?<![\w.])/(?:wo" + r"rk|ro" + r"ot)/"
    r"|\bpy" + r"pi\.org|python" + r"hosted\.org|registry\." + r"npmjs|deb\.deb" + r"ian",
    re.IGNORECASE,
)
_TEMPLATE = re.compile(
    r"lorem ipsum|\bTBD\b|your (?:change|project|name) here|\bplaceholder\b|add your description|describe your",
    re.IGNORECASE,
)
_UNRELEASED = re.compile(r"^## \[Unreleased\]$", re.MULTILINE)


def no_leftovers(path: PurePosixPath, text: str) -> Iterator[Finding]:
    for line, _ in _matches(_LEFTOVER, text):
        yield Finding(path, line, "unfinished work: do it, or file an issue")


def glossary_words(path: PurePosixPath, text: str) -> Iterator[Finding]:
    """Code only: prose may quote how another project spells a thing."""
    if path.suffix != ".py":
        return
    for pattern, ours in _SYNONYMS.items():
        for line, word in _matches(pattern, text):
            yield Finding(path, line, f"'{word}' is another project's word: here it is '{ours}'")


def no_machine_addresses(path: PurePosixPath, text: str) -> Iterator[Finding]:
    for line, address in _matches(_MACHINE, text):
        yield Finding(path, line, f"'{address}' belongs to one machine or one package index")


def no_template_text(path: PurePosixPath, text: str) -> Iterator[Finding]:
    for line, words in _matches(_TEMPLATE, text):
        yield Finding(path, line, f"'{words}' is a template's text")


def changelog_has_unreleased(path: PurePosixPath, text: str) -> Iterator[Finding]:
    if _UNRELEASED.search(text) is None:
        yield Finding(path, 1, "no section '## [Unreleased]'")


def _matches(pattern: re.Pattern[str], text: str) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(text.splitlines(), start=1):
        for match in pattern.finditer(line):
            yield number, match.group()
