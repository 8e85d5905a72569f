"""Whole replies: decode reads right pages and goes on from whatever first token prefill handed over.

Owns: writing one reply and naming what became of it. Does not own: the first token (`outputs`). Floor 5.

A reply whose first token is right is the clean reply, because decode reads the same pages and starts from the same
token; a reply whose first token is wrong differs from it in that token at least. So the flips of whole replies are
those of first tokens; what is left to see is what a derailed reply turns into.
"""

from __future__ import annotations

import json

from harness.search.ablation.cases import Case
from harness.search.ablation.observations import Outcome
from kernels.engine.pages_read import Context, PagesRead, window_begin
from kernels.engine.prompt import PromptReader
from kernels.engine.recall.contexts import Scanner
from kernels.engine.recall.generate import ReplyStart, generate, reply_state
from kernels.engine.recall.model import RecallModel
from kernels.hicache.geometry import Geometry

MAX_NEW_TOKENS = 96


class ReplyWriter:
    """Writes the replies of one case; the same first token gives the same reply."""

    def __init__(self, model: RecallModel, geometry: Geometry, reader: PromptReader, case: Case) -> None:
        self._model = model
        self._reader = reader
        self._scanner = Scanner()
        self._reading = PagesRead(geometry, case.ledger).reading(
            Context(case.contents, window_begin(case.position), {})
        )
        state = reply_state(model, self._reading, case.prompt.reference, case.position)
        self._start = ReplyStart(state, case.position, case.prompt.carry)
        self._texts: dict[int, tuple[str, int]] = {}

    def write(self, first_token: int) -> tuple[str, int]:
        """The reply's text, without the token that ended it, and how many tokens it has."""
        if first_token not in self._texts:
            reply = generate(
                self._model, self._scanner, self._reading, self._start, first_token, MAX_NEW_TOKENS
            )  # fmt: skip
            tokens = reply.tokens[:-1] if reply.is_stopped else reply.tokens
            text = b"".join(self._reader.text_of(token) for token in tokens).decode("utf-8", errors="replace")
            self._texts[first_token] = (text, len(tokens))
        return self._texts[first_token]


def outcome_of(case: Case, text: str) -> Outcome:
    """What a client would take the reply for."""
    if text.strip() == case.call:
        return "right"
    name, _, arguments = text.strip().partition(" ")
    return "another call" if name in case.tool_names and _is_object(arguments) else "no call"


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except json.JSONDecodeError:
        return False
