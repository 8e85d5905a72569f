"""Keys and headers: where they come from, and that they never come out again.

Owns: reading them, and taking them out of whatever a server sends back. Does not own: sending them (the transports).
Floor 5. Source: ours. Servers do repeat a key that they refuse, so a reply is cleaned before anybody sees it.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from harness.transport.contract import Reply
from harness.transport.errors import EngineError, EngineProtocolError, EngineUnreachable
from kernels.errors import ConfigError
from results.records import ToolCall

MASK = "[secret]"
_SECRET_CHARACTERS_MIN = 6
"""A shorter header value (`kv`, `true`) is no secret, and taking it out would damage replies."""
_HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")


@dataclass(frozen=True, slots=True)
class Credentials:
    """key_source: how the key was named on the command line; it may be stored, the key may not."""

    api_key: str | None = field(default=None, repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    key_source: str | None = None

    @property
    def secrets(self) -> tuple[str, ...]:
        values = (self.api_key, *self.headers.values(), *(value.partition(" ")[2] for value in self.headers.values()))
        return tuple(value for value in values if value is not None and len(value) >= _SECRET_CHARACTERS_MIN)


def read_credentials(environment: str | None, file: Path | None, headers: Sequence[str]) -> Credentials:
    """Raises: ConfigError; no sentence ever holds a value."""
    if environment is not None and file is not None:
        raise ConfigError("--api-key-env and --api-key-file name two keys; leave one of them out", key="--api-key-file")
    key, source = None, None
    if environment is not None:
        key, source = os.environ.get(environment, "").strip(), f"--api-key-env {environment}"
        if not key:
            raise ConfigError(f"the environment variable '{environment}' is not set", key="--api-key-env")
    if file is not None:
        try:
            key, source = file.read_text(encoding="utf-8").strip(), f"--api-key-file {file}"
        except (OSError, UnicodeDecodeError):
            raise ConfigError(f"'{file}' cannot be read as a file with a key", key="--api-key-file") from None
        if not key:
            raise ConfigError(f"'{file}' is empty, so it holds no key", key="--api-key-file")
    if key is not None and (len(key.split()) != 1 or not key.isprintable() or not key.isascii()):
        raise ConfigError("the key is more than one word of plain characters", key="--api-key-file")
    return Credentials(key, dict(map(_header, headers)), source)


def _header(text: str) -> tuple[str, str]:
    name, colon, value = text.partition(":")
    if not colon or _HEADER_NAME.fullmatch(name) is None or not value.strip().isprintable():
        raise ConfigError("--header has the form 'NAME: VALUE', on one line", key="--header")
    return name, value.strip()


class Scrubber:
    """Takes secrets out of text, as they are and as JSON spells them."""

    def __init__(self, secrets: Sequence[str]) -> None:
        spelled = {form for secret in secrets for form in (secret, json.dumps(secret)[1:-1])}
        longest_first = sorted(spelled, key=len, reverse=True)
        self._pattern = re.compile("|".join(map(re.escape, longest_first))) if spelled else None

    def __repr__(self) -> str:
        return f"Scrubber({self._pattern is not None})"

    def text(self, text: str) -> str:
        return text if self._pattern is None else self._pattern.sub(MASK, text)

    def reply(self, reply: Reply) -> Reply:
        if self._pattern is None:
            return reply
        return replace(
            reply,
            content=self.text(reply.content),
            reasoning=self.text(reply.reasoning),
            tool_calls=tuple(
                ToolCall(self.text(call.id), self.text(call.name), self.text(call.arguments))
                for call in reply.tool_calls
            ),
            error=None if reply.error is None else self._error(reply.error),
            raw=None if reply.raw is None else self.text(reply.raw),
        )

    def _error(self, error: EngineError) -> EngineError:
        if isinstance(error, EngineProtocolError):
            detail = self.text(error.detail)
            return EngineProtocolError(
                error.fault, status=error.status, detail=detail, retry_after_s=error.retry_after_s
            )
        if isinstance(error, EngineUnreachable):
            return EngineUnreachable(self.text(error.url), reason=self.text(error.reason))
        return error
