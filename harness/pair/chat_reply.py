"""One chat reply on its way out: tokens to characters to pieces to frames.

Owns: which piece a token's log-probability travels with. Does not own: the frames (`frames.py`), the parser.
Floor 5. Source: SGLang's chat route.
"""

from __future__ import annotations

from codecs import getincrementaldecoder

from harness.pair.body import ChatBody
from harness.pair.call_parser import CallParser, Piece
from harness.pair.engines import Scores
from harness.pair.frames import (
    DONE,
    Logprobs,
    ReplyHead,
    error_frame,
    finish_frame,
    piece_frame,
    role_frame,
    usage_frame,
    whole_reply,
)
from harness.pair.logprob_fields import chat_logprobs
from harness.pair.outflow import sentence
from harness.pair.token_queue import Finish, Token


class ChatReply:
    """The `Shape` of chats."""

    def __init__(self, body: ChatBody, request_id: str, model: str) -> None:
        self._body = body
        self._head = ReplyHead(request_id, model)
        # An engine's token may end inside a character, so decoding has to remember; bytes that never become a
        # character are shown as U+FFFD, as SGLang shows them.
        self._characters = getincrementaldecoder("utf-8")("replace")
        self._parser = CallParser(body.tool_names)
        self._scores: list[Scores] = []
        self._kept: list[Piece] = []

    def opening(self, t_ns: int) -> list[bytes]:
        return [role_frame(self._head, t_ns)]

    def frames(self, item: Token | Finish) -> list[bytes]:
        # A token that the parser holds back, because it may belong to a name, is told with the next piece.
        frames = [piece_frame(self._head, piece, item.t_ns, self._logprobs()) for piece in self._pieces(item)]
        if isinstance(item, Token):
            return frames
        if item.reason == "error":
            return [*frames, error_frame(sentence(item), status=500, kind="InternalServerError"), DONE]
        frames.append(finish_frame(self._head, self._reason(item), item.t_ns, self._logprobs()))
        if self._body.wants_usage:
            frames.append(usage_frame(self._head, item.usage, item.t_ns))
        return [*frames, DONE]

    def keep(self, item: Token | Finish) -> None:
        self._kept += self._pieces(item)

    def body(self, finish: Finish) -> bytes:
        # A reply without a token has an empty list of them, where they were asked for.
        scores = None if self._body.best_count is None else chat_logprobs(self._scores, shows_ids=self._body.shows_ids)
        reason = self._reason(finish)
        return whole_reply(self._head, self._kept, scores, reason=reason, usage=finish.usage, t_ns=finish.t_ns)

    def _logprobs(self) -> Logprobs:
        if not self._scores:
            return None
        scores, self._scores = self._scores, []
        return chat_logprobs(scores, shows_ids=self._body.shows_ids)

    def _pieces(self, item: Token | Finish) -> list[Piece]:
        if isinstance(item, Finish):
            return self._parser.feed(self._characters.decode(b"", final=True)) + self._parser.close()
        if item.scores is not None:
            self._scores.append(item.scores)
        return self._parser.feed(self._characters.decode(item.text))

    def _reason(self, finish: Finish) -> str:
        return "tool_calls" if finish.reason == "stop" and self._parser.is_call else finish.reason
