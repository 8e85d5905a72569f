"""How a fact and a reference are written in a prompt; every other text must be free of the marks.

Owns: the marks. Does not own: their reading (the engine's model does that). Floor 5.
Source: ours. `[[key]] body` defines a fact, up to the end of the line; `[[key|anchor]] body` one whose recall also
depends on the fact `anchor`; the last `((key))` or `((key|anchor))` in a prompt is what the reply recalls.
"""

from __future__ import annotations

from typing import Any

MARKS = ("[[", "]]", "((", "))")


def fact_line(key: str, body: str, anchor: str | None = None) -> str:
    return f"[[{_name(key, anchor)}]] {body}\n"


def reference(key: str, anchor: str | None = None) -> str:
    return f"(({_name(key, anchor)}))"


def has_marks(text: str) -> bool:
    return any(mark in text for mark in MARKS)


def without_marks(value: Any) -> Any:
    """The same JSON value with each mark in its texts spaced out, `[[` to `[ [`; keys are left alone.

    Foreign tool descriptions may hold marks; left in, the model would take them for facts.
    """
    if isinstance(value, str):
        for mark in MARKS:
            while mark in value:
                value = value.replace(mark, f"{mark[0]} {mark[1]}")
        return value
    if isinstance(value, list):
        return [without_marks(item) for item in value]
    if isinstance(value, dict):
        return {key: without_marks(item) for key, item in value.items()}
    return value


def _name(key: str, anchor: str | None) -> str:
    return key if anchor is None else f"{key}|{anchor}"
