"""Reading single fields of a request's body, and the sentence for a bad one.

Owns: types and bounds that both APIs share. Does not own: which fields an API has (`body.py`, `completion_body.py`).
Floor 5. Source: facts/real-servers.md section 1 (what routers rename and add); the OpenAI API.
"""

from __future__ import annotations

from typing import Any, Final

import orjson

BEST_MAX: Final = 20
"""Rivals of a token that may be asked for: OpenAI's bound for chats, and vLLM's for both APIs."""


class BadBodyError(Exception):
    """The client's mistake, in one sentence. parameter: the field it is about, if it is about one."""

    def __init__(self, sentence: str, *, parameter: str | None = None) -> None:
        self.sentence = sentence
        self.parameter = parameter
        super().__init__(sentence)


def json_object(raw: bytes) -> dict[str, Any]:
    """Raises: BadBodyError."""
    try:
        fields = orjson.loads(raw)
    except orjson.JSONDecodeError as problem:
        raise BadBodyError(f"the body is not JSON: {problem}") from None
    if not isinstance(fields, dict):
        raise BadBodyError(f"the body must be a JSON object, not {kind_of(fields)}")
    for name in ("n", "best_of"):
        if fields.get(name) not in (None, 1):
            raise BadBodyError(f"only {name} = 1 is served", parameter=name)
    return fields


def optional(fields: dict[str, Any], key: str, kind: type) -> Any:
    """The field, or None. Raises: BadBodyError for one of another kind."""
    value = fields.get(key)
    # JSON's true is an int for Python, and a count of true tokens is a mistake worth telling.
    if value is not None and (not isinstance(value, kind) or (kind is int and isinstance(value, bool))):
        raise BadBodyError(f"'{key}' must be {_KIND_NAMES[kind]}, not {kind_of(value)}", parameter=key)
    return value


def number(fields: dict[str, Any], key: str) -> float | None:
    value = fields.get(key)
    if value is None:
        return None
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise BadBodyError(f"'{key}' must be a number, not {kind_of(value)}", parameter=key)
    return float(value)


def best_count(fields: dict[str, Any], key: str) -> int | None:
    """How many rivals of each token are asked for. Raises: BadBodyError for more than are served."""
    count: int | None = optional(fields, key, int)
    if count is not None and not 0 <= count <= BEST_MAX:
        raise BadBodyError(f"'{key}' must be from 0 to {BEST_MAX}, not {count}", parameter=key)
    return count


def token_limit(fields: dict[str, Any], *keys: str, default: int) -> int:
    for key in keys:
        limit: int | None = optional(fields, key, int)
        if limit is not None:
            if limit < 1:
                raise BadBodyError(f"'{key}' must be at least 1, not {limit}", parameter=key)
            return limit
    return default


def room_of(fields: dict[str, Any]) -> int:
    room = fields.get("bootstrap_room")
    if isinstance(room, list) and len(room) == 1:
        room = room[0]
    if not isinstance(room, int) or isinstance(room, bool) or room < 0:
        raise BadBodyError(
            "this worker serves one half of each request and needs 'bootstrap_room' to find the other: "
            "send requests to the router",
            parameter="bootstrap_room",
        )
    return room


def user_of(fields: dict[str, Any]) -> str:
    """Who asks: `user`, or OpenAI's newer name for it, which is all that sglang-router 0.3.2 lets through."""
    return optional(fields, "user", str) or optional(fields, "safety_identifier", str) or ""


_KIND_NAMES: Final[dict[type, str]] = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "a string",
    list: "a list",
    dict: "an object",
}


def kind_of(value: object) -> str:
    return "null" if value is None else _KIND_NAMES.get(type(value), type(value).__name__)
