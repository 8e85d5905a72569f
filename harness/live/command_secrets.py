"""Commands of the user's own, as they may be shown and stored: without the keys that stand in them.

Owns: which words of a command are secrets. Does not own: keys that were given as such (`credentials.py`), secrets in
texts (`harness/capture/scrubbing`). Pure. Floor 5. Source: ours.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from harness.capture.scrubbing.scrubber import ScrubRules, SecretScrubber

HIDDEN: Final = "..."
_SECRET = re.compile(r"(key|token|secret|password|passwd|auth)$", re.IGNORECASE)
_VARIABLE = re.compile(r"[A-Za-z_]\w*")
_WORD = re.compile(r"""((?:[^\s'"]|'[^']*'|"(?:\\.|[^"\\])*"|['"])+)""")
"""A word of the shell, with blanks inside of quotes."""


def without_secrets(words: Sequence[str]) -> list[str]:
    """The words of a command; `...` for what follows a flag like `--api-key`, for the value of a variable like
    `API_KEY=`, and for any word that starts with `sk-`."""
    kept: list[str] = []
    is_secret = False
    for word in words:
        name, equals, _ = word.partition("=")
        is_named = name.startswith("-") or (bool(equals) and _VARIABLE.fullmatch(name) is not None)
        says_secret = is_named and _SECRET.search(name) is not None
        if is_secret or word.lstrip("\"'").startswith("sk-"):
            kept.append(HIDDEN)
        elif equals and says_secret:
            kept.append(f"{name}={HIDDEN}")
        else:
            kept.append(word)
        is_secret = says_secret and not equals
    return kept


def shell_without_secrets(text: str) -> str:
    """A command line for the shell, letter by letter as it is but for its secrets, those inside of a word too."""
    pieces = _WORD.split(text)
    pieces[1::2] = without_secrets(pieces[1::2])
    return SecretScrubber(ScrubRules("secrets")).text("".join(pieces))
