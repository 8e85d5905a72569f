"""The body of a completion request: a text or token ids that the model continues as they are.

Owns: which fields matter, and what makes a body bad. Does not own: single fields (`fields.py`), chats (`body.py`).
Floor 5. Source: OpenAI's completions API; token ids as prompt, and tokens told by their ids, as vLLM serves them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from harness.pair.engines import GenerateRequest
from harness.pair.fields import (
    BadBodyError,
    best_count,
    json_object,
    kind_of,
    number,
    optional,
    room_of,
    token_limit,
    user_of,
)
from kernels.engine.vocabulary import VOCABULARY_SIZE

DEFAULT_NEW_TOKENS: Final = 16
"""OpenAI's, for this API."""


@dataclass(frozen=True, slots=True)
class CompletionBody:
    """What a worker needs of a completion request; the fields of `ChatBody` mean the same here."""

    model: str
    prompt: str | tuple[int, ...]
    max_new_tokens: int
    is_stream: bool
    wants_usage: bool
    user: str
    room: int
    temperature: float | None
    top_p: float | None
    seed: int | None
    best_count: int | None
    shows_ids: bool

    def request(self, request_id: str, order: tuple[int, ...]) -> GenerateRequest:
        return GenerateRequest(
            request_id=request_id,
            order=order,
            room=self.room,
            messages=(),
            tools=(),
            max_new_tokens=self.max_new_tokens,
            temperature=self.temperature,
            top_p=self.top_p,
            seed=self.seed,
            raw_prompt=self.prompt,
            best_count=self.best_count,
        )


def completion_body(raw: bytes) -> CompletionBody:
    """Raises: BadBodyError."""
    fields = json_object(raw)
    if optional(fields, "echo", bool):
        raise BadBodyError("'echo' is not served: the reply holds the new tokens only", parameter="echo")
    options = optional(fields, "stream_options", dict) or {}
    return CompletionBody(
        model=optional(fields, "model", str) or "",
        prompt=_prompt(fields),
        max_new_tokens=token_limit(fields, "max_tokens", default=DEFAULT_NEW_TOKENS),
        is_stream=bool(optional(fields, "stream", bool)),
        wants_usage=bool(options.get("include_usage")),
        user=user_of(fields),
        room=room_of(fields),
        temperature=number(fields, "temperature"),
        top_p=number(fields, "top_p"),
        seed=optional(fields, "seed", int),
        best_count=best_count(fields, "logprobs"),
        shows_ids=bool(optional(fields, "return_tokens_as_token_ids", bool)),
    )


def _prompt(fields: dict[str, Any]) -> str | tuple[int, ...]:
    """A text, a list of ids, or a list with one of those."""
    prompt = fields.get("prompt")
    if isinstance(prompt, list) and prompt and isinstance(prompt[0], str | list):
        if len(prompt) > 1:
            raise BadBodyError(f"one prompt a request is served, not {len(prompt)}", parameter="prompt")
        prompt = prompt[0]
    if isinstance(prompt, str) and prompt:
        return prompt
    if not isinstance(prompt, list) or not prompt:
        what = "an empty one" if prompt in ("", []) else kind_of(prompt)
        raise BadBodyError(f"'prompt' must be a text or a list of token ids, not {what}", parameter="prompt")
    for position, token in enumerate(prompt):
        if not isinstance(token, int) or isinstance(token, bool) or not 0 <= token < VOCABULARY_SIZE:
            raise BadBodyError(
                f"prompt[{position}] must be a token id from 0 to {VOCABULARY_SIZE - 1}, not {token!r}",
                parameter="prompt",
            )
    return tuple(prompt)
