"""From the words of the command to the rules of scrubbing.

Owns: reading the user's patterns and words. Does not own: options (`harness/cli`), replacing. Floor 5. Source: ours.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from harness.capture.scrubbing.scrubber import Mode, ScrubRules
from kernels.errors import ConfigError

_WORD_CHARACTERS_MIN = 3


def scrub_rules(mode: Mode, patterns: Sequence[str], file: Path | None) -> ScrubRules:
    """file: one word a line, each of which must never be stored; empty lines and lines with `#` in front are skipped.

    Raises: ConfigError; no sentence holds a word of the file.
    """
    return ScrubRules(mode, tuple(map(_pattern, patterns)), () if file is None else _words(file))


def _pattern(text: str) -> re.Pattern[str]:
    try:
        pattern = re.compile(text)
    except re.error as error:
        what = f"--scrub-pattern '{text}' is no regular expression ({error})"
        raise ConfigError(what, key="--scrub-pattern", value=text) from None
    if pattern.search(""):
        what = f"--scrub-pattern '{text}' matches the empty text, so it would match everywhere"
        raise ConfigError(what, key="--scrub-pattern", value=text)
    return pattern


def _words(file: Path) -> tuple[str, ...]:
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        what = f"'{file}' cannot be read as a file of words"
        raise ConfigError(what, key="--scrub-file", value=str(file)) from None
    words = tuple(dict.fromkeys(line.strip() for line in lines if line.strip() and not line.startswith("#")))
    if not words:
        raise ConfigError(f"'{file}' holds no word", key="--scrub-file", value=str(file))
    if any(len(word) < _WORD_CHARACTERS_MIN for word in words):
        what = f"'{file}' holds a word of fewer than {_WORD_CHARACTERS_MIN} characters, which stands in every text"
        raise ConfigError(what, key="--scrub-file", value=str(file))
    return words
