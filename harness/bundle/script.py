"""The script itself: a template with the facts of one turn filled in.

Owns: the filling in, so that no text of a model can break out of its place. Does not own: what the script does
(`reproduction.py.txt`, which is plain Python of the standard library), the payload. Pure. Floor 5. Source: ours.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

TEMPLATE: Final = Path(__file__).with_name("reproduction.py.txt")
TEXT_CHARACTERS_MAX: Final = 1_200
_LINE_CHARACTERS: Final = 100
_MARK: Final = re.compile(r"@@([A-Z_]+)@@")


@dataclass(frozen=True, slots=True)
class ScriptFacts:
    """What a reader sees on top. about: lines on the run. expected: None where nobody knows the right answer."""

    file: str
    title: str
    about: tuple[str, ...]
    model: str
    session: int
    turn: int
    expected: str | None
    received: str
    why: str
    rounds: int


def render(facts: ScriptFacts, payload: Mapping[str, str | int]) -> str:
    """payload: the values of SESSIONS, TURNS, PROMPT_TOKENS and PAYLOAD."""
    values = {
        "TITLE": _prose(facts.title),
        "FILE": facts.file,
        "ABOUT": "\n".join(map(_prose, facts.about)),
        "MODEL": ascii(facts.model),
        "SESSION": str(facts.session),
        "TURN": str(facts.turn),
        "EXPECTED": _literal(facts.expected or "(what the server answers when the turn is asked alone)"),
        "RECEIVED": _literal(facts.received),
        "WHY": _literal(facts.why),
        "ROUNDS": str(facts.rounds),
        **{name: str(value) for name, value in payload.items()},
    }
    # In one pass: what is filled in is never looked at again.
    return _MARK.sub(lambda match: values[match[1]], TEMPLATE.read_text(encoding="utf-8"))


def _prose(text: str) -> str:
    """Inside a docstring: plain characters, and no way to end it."""
    return ascii(text)[1:-1].replace("\\'", "'").replace('"', "'").replace("\\", "/")


def _literal(text: str) -> str:
    """A string of Python in lines that can be read; what is too long is cut, and says so."""
    rest = len(text) - TEXT_CHARACTERS_MAX
    shown = text if rest <= 0 else f"{text[:TEXT_CHARACTERS_MAX]} ... and {rest:,} characters more"
    lines = [ascii(shown[at : at + _LINE_CHARACTERS]) for at in range(0, len(shown), _LINE_CHARACTERS)]
    inside = "\n".join(f"    {line}" for line in lines or ["''"])
    return f"(\n{inside}\n)"
