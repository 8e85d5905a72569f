"""A whole reply: recall a token, roll the hash on, recall the next.

Owns: the loop, its speed-up, where it ends. Does not own: one evaluation (`recall.py`), when each token appears in
simulated time. Floor 2c. Source: the speed-up is prompt-lookup drafting (speculative decoding with the prompt as
draft model), ours in detail.

The loop is sequential: each token is recalled by the hash of those before it. Where the next hash occurs in the
context, the tokens that follow there are a good guess at the whole reply; all guesses are put as one batch of queries,
and the answers are taken up to the first that differs from its guess. Each accepted answer was computed from exactly
what the loop would have had, so the result is the loop's, guess or no guess; a test compares.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kernels.engine.recall.codes import signatures_of
from kernels.engine.recall.contexts import Scanner
from kernels.engine.recall.grammar import Carry, Name, Reference, start_of
from kernels.engine.recall.hashing import (
    Words,
    advance,
    fact_context,
    fact_contexts,
    key_state,
    start_state,
    unroll,
)
from kernels.engine.recall.memo import Memo
from kernels.engine.recall.model import RecallModel
from kernels.engine.recall.queries import queries_at, queries_behind
from kernels.engine.recall.reading import Reading
from kernels.engine.recall.recall import recall_scores, recall_tokens
from kernels.engine.recall.scores import TokenScores
from kernels.engine.tokenizer import TokenIds
from kernels.engine.vocabulary import END, NEWLINE, VOCABULARY_SIZE

DRAFT_TOKENS_MAX = 64
STOP_TOKENS = (NEWLINE, END)

NO_REFERENCE = Name(key_state(()))
"""What a prompt without a reference asks for; the chat template defines it."""


@dataclass(frozen=True, slots=True)
class ReplyStart:
    """Where a reply begins. state: in front of its first token. position: prompt tokens. carry: the prompt's."""

    state: int
    position: int
    carry: Carry


@dataclass(frozen=True, slots=True)
class Reply:
    """tokens: with the first token and the one that ended it. is_stopped: it ended by itself, not by the limit.

    evaluations: batches of queries that it took. scores: of all tokens but the first, or nothing where nobody asked.
    """

    tokens: tuple[int, ...]
    is_stopped: bool
    evaluations: int
    scores: tuple[TokenScores, ...] = ()


def reply_state(model: RecallModel, reading: Reading, reference: Reference | None, position: int) -> int:
    """The rolling state in front of the reply's first token; recalls the reference's anchor where there is one."""
    name = NO_REFERENCE if reference is None else reference.name
    if name.anchor is None:
        return start_of(name, None)
    recalled = recall_tokens(model, reading, queries_at(anchor_context(name), position))
    return start_of(name, int(recalled[0]))


def anchor_context(name: Name) -> Words:
    """[1] uint64, the hash that recalls the first token under the name's anchor."""
    assert name.anchor is not None
    return state_context(start_state(name.anchor, None))


def state_context(state: int) -> Words:
    """[1] uint64, the hash that recalls the token behind `state`."""
    return np.array([fact_context(state)], dtype=np.uint64)


def generate(
    model: RecallModel,
    scanner: Scanner,
    reading: Reading,
    start: ReplyStart,
    first_token: int,
    max_new_tokens: int,
    memo: Memo[Reply] | None = None,
    best_count: int | None = None,
) -> Reply:
    """Write a reply whose first token is given.

    Effect: fills `memo`, if the reading has an identity.
    Args: first_token: the prefill engine recalled it, maybe wrongly. max_new_tokens: counts it, at least 1.
        best_count: how many rivals each token's scores are to have; None: no scores.
    """
    key = (reading.identity, start.state, start.position, first_token, max_new_tokens, best_count)
    known = memo.get(key) if memo is not None and reading.identity is not None else None
    if known is not None:
        return known
    writer = _Writer(model, scanner, reading, start, first_token, best_count)
    while not writer.is_stopped and len(writer.tokens) < max_new_tokens:
        writer.extend(max_new_tokens - len(writer.tokens))
    reply = Reply(tuple(writer.tokens), writer.is_stopped, writer.evaluations, tuple(writer.scores))
    if memo is not None and reading.identity is not None:
        memo.put(key, reply)
    return reply


class _Writer:
    """A reply under way."""

    def __init__(
        self,
        model: RecallModel,
        scanner: Scanner,
        reading: Reading,
        start: ReplyStart,
        first_token: int,
        best_count: int | None,
    ) -> None:
        self.tokens: list[int] = []
        self.scores: list[TokenScores] = []
        self.evaluations = 0
        self._model = model
        self._scanner = scanner
        self._best_count = best_count
        self._reading = reading
        self._position = start.position
        self._state = start.state
        self._carry = start.carry
        self._contexts = np.zeros(0, dtype=np.uint64)
        self._append([first_token])

    @property
    def is_stopped(self) -> bool:
        return self.tokens[-1] in STOP_TOKENS

    def extend(self, limit: int) -> None:
        """Effect: recalls at least one and at most `limit` more tokens."""
        draft = self._draft(min(limit, DRAFT_TOKENS_MAX))
        # Query i stands behind i drafted tokens; the last drafted token is only compared with its answer.
        ahead = draft[:-1]
        contexts = fact_contexts(unroll(self._state, ahead))
        tail = np.concatenate([np.array(self.tokens, dtype=np.int32), ahead])
        tail_contexts = np.concatenate([self._contexts, self._scanner.scan(ahead, self._carry).contexts])
        lags = len(self.tokens) + np.arange(len(contexts))
        queries = queries_behind(contexts, self._position, tail, tail_contexts, lags)
        self.evaluations += 1
        if self._best_count is None:
            self._append(_accepted(recall_tokens(self._model, self._reading, queries), ahead))
            return
        scores = recall_scores(self._model, self._reading, queries, self._best_count)
        accepted = _accepted(np.array([one.token for one in scores], dtype=np.int32), ahead)
        self.scores += scores[: len(accepted)]
        self._append(accepted)

    def _append(self, tokens: list[int]) -> None:
        scan = self._scanner.scan(np.array(tokens, dtype=np.int32), self._carry)
        self._contexts = np.concatenate([self._contexts, scan.contexts])
        self._carry = scan.carry
        self.tokens += tokens
        for token in tokens:
            self._state = advance(self._state, token)

    def _draft(self, limit: int) -> TokenIds:
        """What follows in the context where the next hash last occurs, up to the end of that fact; may be empty."""
        latents = max(self._reading.indexed, key=lambda group: len(group.layers)).c4
        signature = signatures_of(state_context(self._state))
        places = np.flatnonzero(latents.signatures == signature)
        if len(places) == 0:
            return np.zeros(0, dtype=np.int32)
        begin = int(places[-1])
        draft = latents.numbers[begin : begin + limit].astype(np.int32)
        ends = np.flatnonzero(np.isin(draft, STOP_TOKENS) | (draft >= VOCABULARY_SIZE))
        return draft[: int(ends[0]) + 1] if len(ends) else draft


def _accepted(answers: TokenIds, ahead: TokenIds) -> list[int]:
    """The answers up to the first that differs from its guess or ends the reply, that one included."""
    ends = np.isin(answers, STOP_TOKENS)
    ends[: len(ahead)] |= answers[: len(ahead)] != ahead
    ends[-1] = True
    accepted: list[int] = answers[: int(np.flatnonzero(ends)[0]) + 1].tolist()
    return accepted
