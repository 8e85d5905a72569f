"""Keys and headers: where they come from, and that they never come out again.

Owns: reading them, which of them are secrets, and taking those out of whatever a server sends back. Does not own:
sending them (the transports). Floor 5. Source: ours. Servers do repeat a key that they refuse, so a reply is cleaned
before anybody sees it.

What is decided: secret are the key, and the values of headers whose name says so (Authorization, Proxy-Authorization,
Cookie, and whatever has key, token, secret, auth or password in it). `X-Priority: normal` is none: a right reply may
hold the word. Cleaning must never make a verdict, so a secret that a right reply could hold as well, which is a short
one that does not mix letters and digits, stays in what is judged and is taken out of everything else: errors, refusals,
notes, logs, commands. No header's value is ever written by ourselves.
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
"""A shorter value (`kv`, `true`) is no secret, and taking it out would damage replies."""
_SECRET_NAME = re.compile(r"cookie|key|token|secret|auth|password", re.IGNORECASE)
_ORDINARY = re.compile(r"[A-Za-z _./:-]{1,15}|[0-9 .,/:-]{1,15}")
"""What may be a secret, and may as well be a word or a number of a right reply."""
_PARTS = re.compile(r"[;, ]+")
_HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")


@dataclass(frozen=True, slots=True)
class Credentials:
    """key_source: how the key was named on the command line; it may be stored, the key may not."""

    api_key: str | None = field(default=None, repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    key_source: str | None = None

    @property
    def secrets(self) -> tuple[str, ...]:
        values = [] if self.api_key is None else [self.api_key]
        for name, value in self.headers.items():
            if _SECRET_NAME.search(name) is not None:
                values += _forms(value)
        return tuple(dict.fromkeys(value for value in values if len(value) >= _SECRET_CHARACTERS_MIN))


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


def _forms(value: str) -> list[str]:
    """A header's value, what follows its scheme (`Bearer`), and the values of cookies: a server may repeat any."""
    cookies = [part.partition("=")[2] for part in _PARTS.split(value)]
    return [value, value.partition(" ")[2], *cookies]


class Scrubber:
    """Takes secrets out of text, as they are and as JSON spells them."""

    def __init__(self, secrets: Sequence[str]) -> None:
        self._every = _pattern_of(secrets)
        self._certain = _pattern_of([secret for secret in secrets if _ORDINARY.fullmatch(secret) is None])

    def __repr__(self) -> str:
        return f"Scrubber({self._every is not None})"

    def text(self, text: str) -> str:
        """Text that nobody judges."""
        return _without(self._every, text)

    def reply(self, reply: Reply) -> Reply:
        if self._every is None:
            return reply
        has_text = bool(reply.content or reply.reasoning or reply.tool_calls)
        return replace(
            reply,
            content=self._judged(reply.content),
            reasoning=self._judged(reply.reasoning),
            tool_calls=tuple(
                ToolCall(self._judged(call.id), self._judged(call.name), self._judged(call.arguments))
                for call in reply.tool_calls
            ),
            error=None if reply.error is None else self._error(reply.error),
            raw=None if reply.raw is None else self._judged(reply.raw) if has_text else self.text(reply.raw),
        )

    def _judged(self, text: str) -> str:
        return _without(self._certain, text)

    def _error(self, error: EngineError) -> EngineError:
        if isinstance(error, EngineProtocolError):
            detail = self.text(error.detail)
            return EngineProtocolError(
                error.fault, status=error.status, detail=detail, retry_after_s=error.retry_after_s
            )
        if isinstance(error, EngineUnreachable):
            return EngineUnreachable(self.text(error.url), reason=self.text(error.reason))
        return error


def _pattern_of(secrets: Sequence[str]) -> re.Pattern[str] | None:
    spelled = {form for secret in secrets for form in (secret, json.dumps(secret)[1:-1])}
    longest_first = sorted(spelled, key=len, reverse=True)
    return re.compile("|".join(map(re.escape, longest_first))) if spelled else None


def _without(secrets: re.Pattern[str] | None, text: str) -> str:
    return text if secrets is None else secrets.sub(MASK, text)
