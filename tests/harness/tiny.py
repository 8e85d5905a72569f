"""The tiny scenario for tests of everything around a run: six sessions that lose the race in under a second.

Owns: where it lies, and its words for the command line. Does not own: any assertion. Floor: tests.
"""

from __future__ import annotations

import tomllib
from pathlib import Path

TINY = Path(__file__).with_name("tiny.toml")


def tiny_words() -> list[str]:
    """`--set SECTION.KEY=VALUE` for everything that the file sets: the same size under another scenario's name."""
    table = tomllib.loads(TINY.read_text(encoding="utf-8"))
    sections = {section: keys for section, keys in table.items() if isinstance(keys, dict)}
    return [
        word
        for section, keys in sections.items()
        for key, value in keys.items()
        for word in ("--set", f"{section}.{key}={value}")
    ]
