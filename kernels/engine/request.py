"""What the engines take and give: a generation request, the sink of its tokens, its usage.

Owns: the records that cross the border between the servers (harness) and the engines. Does not own: HTTP, JSON
bodies, parsing of tool calls. Floor 2c.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

FinishReason = Literal["stop", "length", "abort", "error"]


@dataclass(frozen=True, slots=True)
class Candidate:
    """A token that could stand in a place. text: its bytes; a character may be cut at either end."""

    token: int
    text: bytes
    logprob: float


@dataclass(frozen=True, slots=True)
class Scores:
    """The token of a place, and the best few of that place, most probable first."""

    chosen: Candidate
    best: tuple[Candidate, ...]


@dataclass(frozen=True, slots=True)
class GenerateRequest:
    """One half of a request: the prefill and the decode engine get equal ones, apart from `order`.

    request_id: unique among requests in flight.
    order: the deterministic place among requests that arrive at the same instant, (session, turn, ...) as a rule.
    room: the bootstrap room where the two halves meet.
    temperature, top_p, seed: accepted and ignored, the model is greedy.
    raw_prompt: a text, or token ids, to be continued as it is; the messages and tools are then none.
    best_count: how many rivals of each token are to be told with its log-probability; None: no log-probabilities.
    """

    request_id: str
    order: tuple[int, ...]
    room: int
    messages: Sequence[Mapping[str, Any]]
    tools: Sequence[Mapping[str, Any]]
    max_new_tokens: int
    temperature: float | None = None
    top_p: float | None = None
    seed: int | None = None
    raw_prompt: str | tuple[int, ...] | None = None
    best_count: int | None = None


@dataclass(frozen=True, slots=True)
class Usage:
    """Token counts as the API reports them. cached_tokens: prefix found in the tree, on device or host."""

    prompt_tokens: int
    completion_tokens: int
    cached_tokens: int


class TokenSink(Protocol):
    """Takes what an engine produces for one request, in virtual-time order. It must not call the engine back."""

    def on_text(self, text: bytes, t_ns: int, scores: Scores | None = None) -> None:
        """The bytes of one token; a character may be cut anywhere. scores: where the request asked for them."""

    def on_finish(self, reason: FinishReason, usage: Usage, t_ns: int, message: str = "") -> None:
        """Nothing follows. `message` is a sentence for the client, asked for with `error` and `abort`."""
