"""The commands that a report hands on: each works as it stands, once `spelt` has put in what a token cannot say.

Owns: their text. Does not own: the command line itself (harness). Floor 2b.
"""

from __future__ import annotations

from collections.abc import Mapping

from kernels.races.search.tokens import Token

REPLAY_COMMAND = "python run.py replay"
TRACE_COMMAND = "python run.py trace"
PAGE = "race.html"


def commands(token: Token) -> tuple[str, ...]:
    """Replay it, look at it in a browser, look at it in Perfetto."""
    return (
        f"{REPLAY_COMMAND} {token}",
        f"{REPLAY_COMMAND} {token} --html {PAGE}",
        f"{TRACE_COMMAND} {token} > t.json   (Perfetto)",
    )


def spelt(text: str, files: Mapping[str, str], words: str) -> str:
    """A text whose commands work: with the file that holds a long token, and with the options of its program.

    files: token -> the name that stands for it. words: options, ready for a shell; empty where the token says it all.
    """
    for token, name in files.items():
        text = text.replace(token, name)
    if words:
        for command in (REPLAY_COMMAND, TRACE_COMMAND):
            text = text.replace(f"{command} ", f"{command} {words} ")
    return text
