"""Replay tokens: a failing order in a line that can be pasted into a chat.

Owns: the text form, and refusing a token that was made with another program. Does not own: finding failures. Floor 2b.

    kr1-8c1f02aa-s1l8-o2.14b0.7            version, program hash, workload, order constraints
    kr1-8c1f02aa--c0x12.1.0x3              where orders alone do not do it: the choices, `0x12` is twelve times 0
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from kernels.errors import KVRaceError
from kernels.races.strategies.issue_order import Constraint

VERSION = "kr1"
TOKEN_CHARACTERS_MAX = 120
"""A longer token belongs into a file."""

_WORKLOAD = r"[\w.,=/:]*"
_FORM = re.compile(
    rf"(?P<version>kr\d+)-(?P<hash>[0-9a-f]{{8}})-(?P<workload>{_WORKLOAD})-(?P<kind>[oc])(?P<rest>[\d.bx_]*)"
)


def can_name(workload: str) -> bool:
    """True where a token can carry this text as its workload."""
    return re.fullmatch(_WORKLOAD, workload) is not None


class TokenRefused(KVRaceError):
    """A token that cannot be replayed: unreadable, of another version, or of another program."""

    exit_code = 2

    def __init__(self, token: str, why: str) -> None:
        self.token = token
        self.why = why
        super().__init__(f"token {token}: {why}")


@dataclass(frozen=True, slots=True)
class Token:
    """constraints on top of issue order, or, where `choices` is not None, every choice of the execution."""

    program_hash: str
    workload: str = ""
    constraints: tuple[Constraint, ...] = ()
    choices: tuple[int, ...] | None = None

    @property
    def is_short(self) -> bool:
        return len(str(self)) <= TOKEN_CHARACTERS_MAX

    def __str__(self) -> str:
        by_order = "o" + "_".join(map(str, self.constraints))
        rest = by_order if self.choices is None else f"c{_packed(self.choices)}"
        return f"{VERSION}-{self.program_hash}-{self.workload}-{rest}"

    @classmethod
    def parse(cls, text: str, *, program_hash: str | None = None) -> Token:
        """Read a token. Raises: TokenRefused, also where `program_hash` is given and is another."""
        match = _FORM.fullmatch(text.strip())
        if match is None:
            raise TokenRefused(text, f"this is no token; one looks like {VERSION}-8c1f02aa--o2.14b0.7")
        if match["version"] != VERSION:
            raise TokenRefused(text, f"it has version {match['version']}, this tool replays {VERSION}")
        if program_hash is not None and match["hash"] != program_hash:
            raise TokenRefused(
                text,
                f"it was made with program {match['hash']}, this one is {program_hash}: the code has changed, "
                "so its steps mean something else; search again",
            )
        if match["kind"] == "c":
            return cls(match["hash"], match["workload"], choices=_unpacked(text, match["rest"]))
        constraints = [Constraint.parse(part) for part in match["rest"].split("_") if part]
        if None in constraints:
            raise TokenRefused(text, "its order constraints cannot be read")
        return cls(match["hash"], match["workload"], tuple(one for one in constraints if one is not None))


def _packed(choices: Sequence[int]) -> str:
    runs = [(value, len(list(group))) for value, group in groupby(choices)]
    return ".".join(f"{value}x{count}" if count > 1 else str(value) for value, count in runs)


def _unpacked(text: str, packed: str) -> tuple[int, ...]:
    choices: list[int] = []
    for part in packed.split(".") if packed else []:
        value, _, count = part.partition("x")
        if not value.isdecimal() or (count and not count.isdecimal()) or (part.endswith("x")):
            raise TokenRefused(text, f"its choices cannot be read at '{part}'")
        choices += [int(value)] * (int(count) if count else 1)
    return tuple(choices)
