"""What every client of an engine offers: one chat request in, one reply out.

Owns: the request, the reply, and the `Transport` protocol. Does not own: sockets (`over_aiohttp.py`,
`over_openai.py`) or the decoding of streams (`sse.py`, `reply.py`).
Floor 5. Source: ours; the fields are what OpenAI-compatible servers have in common.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from harness.transport.errors import EngineError
from harness.transport.hang_up import HangUp
from results.records import ToolCall


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """One turn's request. extra: further top-level fields, as they are.

    request_id: travels in the body, because routers drop headers; under two names, because sglang-router 0.3.2 drops
        `user` as well and passes on its successor in OpenAI's API.
    hang_up: when the client is to close the connection without waiting for the end; the reply's error is `HungUp` then.
    omitted: fields that this server refuses (`accommodating.py`).
    """

    request_id: str
    model: str
    messages: Sequence[Mapping[str, Any]]
    tools: Sequence[Mapping[str, Any]] = ()
    max_tokens: int | None = None
    stream: bool = True
    extra: Mapping[str, Any] = field(default_factory=dict)
    hang_up: HangUp | None = None
    omitted: frozenset[str] = frozenset()

    def fields(self) -> dict[str, Any]:
        """The body, before encoding."""
        fields: dict[str, Any] = {"model": self.model, "messages": self.messages}
        if self.tools:
            fields["tools"] = self.tools
        if self.max_tokens is not None:
            fields["max_tokens"] = self.max_tokens
        if self.stream:
            fields |= {"stream": True, "stream_options": {"include_usage": True}}
        names = {"user": self.request_id, "safety_identifier": self.request_id}
        whole = {**fields, "temperature": 0, **names, **self.extra}
        return {name: value for name, value in whole.items() if name not in self.omitted}


@dataclass(frozen=True, slots=True)
class ReplyUsage:
    """Token counts as the server reports them; None where it does not."""

    prompt_tokens: int | None
    completion_tokens: int | None
    cached_tokens: int | None


@dataclass(frozen=True, slots=True)
class Stamps:
    """When the first token and the end of a reply were; None where that never came."""

    first_token_ns: int | None
    end_ns: int | None


@dataclass(frozen=True, slots=True)
class Reply:
    """Everything that is known of one reply, whole or not.

    error: None for a reply that came to its end; what arrived before an error is kept in the other fields.
    arrived: by the client's clock. stamped: by the server's `kvrace` extension (virtual time), or empty.
    served_as: the request id under which our own engine has it, where the server says so.
    quirks: deviations that cost nothing, by name, in the order in which they were seen.
    raw: the answer's bytes as text; bytes that are no UTF-8 show as U+FFFD.
    text_ns: when each piece of text came, by the client's clock; its gaps are the times between tokens.
    omitted: fields that its request was to have, and had not, because this server refuses them.
    """

    status: int | None
    content: str
    reasoning: str
    tool_calls: tuple[ToolCall, ...]
    finish_reason: str | None
    usage: ReplyUsage | None
    error: EngineError | None
    arrived: Stamps
    stamped: Stamps
    served_as: str | None
    quirks: tuple[str, ...]
    raw: str | None
    text_ns: tuple[int, ...] = ()
    omitted: frozenset[str] = frozenset()


class Transport(Protocol):
    """A client of one endpoint. Engine errors are in the reply; only a bug or a cancellation is raised."""

    async def chat(self, request: ChatRequest) -> Reply: ...

    async def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class TransportOptions:
    """base_url: up to and including `/v1`. Timeouts: None means that there is none.

    api_key: never stored anywhere; it goes into one header. use_environment_proxies: off, because a run on loopback
    must not go through one. on_bytes: told of each piece of an answer's body as it comes; it must be quick.
    """

    base_url: str
    api_key: str | None = field(default=None, repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    connect_timeout_s: float | None = 30.0
    read_timeout_s: float | None = 600.0
    connections_max: int = 0
    keep_raw: bool = True
    use_environment_proxies: bool = False
    on_bytes: Callable[[bytes], None] | None = None
