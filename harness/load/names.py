"""How sessions, turns and busy keys are named, so that client and servers mean the same thing.

Owns: the text of a request's name (`s0012-t03`, carried in the body, because routers drop headers) and of the keys
that keep virtual time still. Does not own: who holds a key, or when.
Floor 5. Source: facts/real-servers.md section 1 (what survives a router); the rest is ours.
"""

from __future__ import annotations

import re
from typing import Final, Literal

Role = Literal["prefill", "decode"]

ROLES: Final[tuple[Role, Role]] = ("prefill", "decode")
FOREIGN_SESSION: Final = 1 << 62
"""Sorts requests that name no session of ours behind all that do."""

_REQUEST_NAME = re.compile(r"s(\d{1,9})-t(\d{1,9})")


def request_name(session: int, turn: int) -> str:
    """The name of one turn's request; it is also the order in which simultaneous requests are admitted."""
    return f"s{session:04d}-t{turn:02d}"


def session_and_turn(name: str) -> tuple[int, int] | None:
    """The (session, turn) that a request's name stands for; None when the request is not one of ours."""
    match = _REQUEST_NAME.fullmatch(name)
    return (int(match[1]), int(match[2])) if match else None


def other_role(role: Role) -> Role:
    return "decode" if role == "prefill" else "prefill"


def awake_key(session: int) -> str:
    """Held while the session's client runs between two sleeps or requests."""
    return f"s{session:04d}/awake"


def half_key(request: str, role: Role) -> str:
    """Held from before the client sends until that worker has the body, or has failed and the client knows."""
    return f"{request}/{role}"


def reply_key(request: str) -> str:
    """Held from the engine's last token until the client has read the stream's end."""
    return f"{request}/reply"


def request_keys(request: str) -> tuple[str, str, str]:
    """All keys of one request: what a client releases when it is done with it, however that ended."""
    return half_key(request, "prefill"), half_key(request, "decode"), reply_key(request)
