"""One completion on its way out: text and nothing else, with its tokens' log-probabilities.

Owns: its chunks and its body. Does not own: what bodies of both APIs have in common (`frames.py`).
Floor 5. Source: OpenAI's completions API, as SGLang and vLLM serve it.
"""

from __future__ import annotations

from codecs import getincrementaldecoder
from typing import Any

import orjson

from harness.pair.completion_body import CompletionBody
from harness.pair.engines import Scores
from harness.pair.frames import DONE, Logprobs, ReplyHead, error_frame, event, top_fields, usage_fields
from harness.pair.logprob_fields import completion_logprobs
from harness.pair.outflow import sentence
from harness.pair.token_queue import Finish, Token

_KIND = "text_completion"


class CompletionReply:
    """The `Shape` of completions."""

    def __init__(self, body: CompletionBody, request_id: str, model: str) -> None:
        self._body = body
        self._head = ReplyHead(request_id, model, "cmpl")
        self._characters = getincrementaldecoder("utf-8")("replace")
        self._length = 0
        self._scores: list[Scores] = []
        self._offsets: list[int] = []
        self._kept: list[str] = []

    def opening(self, t_ns: int) -> list[bytes]:
        return []

    def frames(self, item: Token | Finish) -> list[bytes]:
        text = self._text(item)
        if isinstance(item, Token):
            # Half a character is no text yet; its token is told with the other half.
            return [self._chunk(text, item.t_ns)] if text else []
        if item.reason == "error":
            return [error_frame(sentence(item), status=500, kind="InternalServerError"), DONE]
        frames = [self._chunk(text, item.t_ns, reason=item.reason)]
        if self._body.wants_usage:
            top = top_fields(self._head, _KIND, item.t_ns)
            frames.append(event({**top, "choices": [], "usage": usage_fields(item.usage)}))
        return [*frames, DONE]

    def keep(self, item: Token | Finish) -> None:
        self._kept.append(self._text(item))

    def body(self, finish: Finish) -> bytes:
        logprobs = None if self._body.best_count is None else self._take()
        choice = _choice("".join(self._kept), logprobs, finish.reason)
        top = top_fields(self._head, _KIND, finish.t_ns)
        return orjson.dumps({**top, "choices": [choice], "usage": usage_fields(finish.usage)})

    def _text(self, item: Token | Finish) -> str:
        if isinstance(item, Token):
            if item.scores is not None:
                self._scores.append(item.scores)
                self._offsets.append(self._length)
            text = self._characters.decode(item.text)
        else:
            text = self._characters.decode(b"", final=True)
        self._length += len(text)
        return text

    def _take(self) -> dict[str, Any]:
        scores, offsets, self._scores, self._offsets = self._scores, self._offsets, [], []
        return completion_logprobs(scores, offsets, shows_ids=self._body.shows_ids)

    def _chunk(self, text: str, t_ns: int, *, reason: str | None = None) -> bytes:
        choice = _choice(text, self._take() if self._scores else None, reason)
        return event({**top_fields(self._head, _KIND, t_ns), "choices": [choice], "usage": None})


def _choice(text: str, logprobs: Logprobs, reason: str | None) -> dict[str, Any]:
    return {"index": 0, "text": text, "logprobs": logprobs, "finish_reason": reason, "matched_stop": None}
