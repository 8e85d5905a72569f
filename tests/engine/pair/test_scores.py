"""Log-probabilities of a reply: those of the logits that chose it, of wrong replies as well, and nobody pays who asks
for none."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from kernels.engine.recall.generate import state_context
from kernels.engine.recall.grammar import start_of
from kernels.engine.request import Scores
from kernels.engine.shared import SharedModel
from kernels.engine.vocabulary import VOCABULARY_SIZE
from tests.engine.pair.stage import BARE, FLASH, GATED, HALVES, Asked, Heard, Stage
from tests.engine.pair.talks import Talk, Writer
from tests.engine.pair.unshared import Unshared, capture

TOKENS = 7_800
NATS = 4.0 * 21


def ask(stage: Stage, talk: Talk, name: str, best_count: int | None) -> Asked:
    asked = stage.submit(talk, name, halves=())
    asked = Asked(replace(asked.request, best_count=best_count), asked.right, {half: Heard() for half in HALVES})
    for half in HALVES:
        stage.submit_half(asked, half)
    stage.settle()
    return asked


def twice(stage: Stage, shared: SharedModel, best_count: int | None) -> list[Asked]:
    """Three conversations in turn; the second turns come back from the host."""
    writer = Writer(shared, 1)
    talks = [writer.talk(TOKENS) for _ in range(3)]
    first = [ask(stage, talk, talk.names[0], best_count) for talk in talks]
    return first + [ask(stage, talk.answered(talk.names[0]), talk.names[1], best_count) for talk in talks]


def said(scores: list[Scores]) -> bytes:
    return b"".join(one.chosen.text for one in scores)


def test_first_token_has_the_softmax_of_the_long_way(shared: SharedModel) -> None:
    stage = Stage(shared, variant=BARE)
    seen = capture(stage)
    again = twice(stage, shared, 3)
    assert sum(not asked.is_right for asked in again) >= 2, "some of them are to be wrong"
    compared = 0
    whole = [one for one in seen if one.first_token is not None]
    for extend, asked in zip(whole[2:], again[2:], strict=True):
        if not asked.decode.pieces:
            continue  # The first token has ended the reply, so nobody was told of it.
        compared += 1
        logits = _logits(Unshared(shared, FLASH, stage.pair, extend), extend.prompt.tokens) / NATS
        expected = logits - np.log(np.exp(logits - logits.max()).sum()) - logits.max()
        order = np.argsort(-expected, kind="stable")[:3]
        told = asked.decode.scores[0]
        assert [one.token for one in told.best] == order.tolist()
        assert np.allclose([one.logprob for one in told.best], expected[order], rtol=0, atol=1e-9)
        assert told.chosen == told.best[0]
    assert compared >= 2


def _logits(long_way: Unshared, tokens: np.ndarray) -> np.ndarray:
    position, prompt = len(tokens), long_way._seen.prompt
    assert prompt.reference is not None
    contexts = state_context(start_of(prompt.reference.name, None))
    geometry = long_way._geometry
    total = np.zeros((1, 64), dtype=np.float32)
    for layer in geometry.layers_with("index_k"):
        total += long_way._indexed(layer, contexts, position)
    for layer in geometry.layers_with("c128"):
        total += long_way._summary(layer, contexts, position)
    values: np.ndarray = (total @ long_way._model.embeddings[:VOCABULARY_SIZE].T)[0].astype(np.float64)
    return values


def test_scores_are_those_of_the_reply_right_or_wrong(shared: SharedModel) -> None:
    again = twice(Stage(shared, variant=BARE), shared, 5)
    for asked in again:
        assert said(asked.decode.scores) == b"".join(asked.decode.pieces)
        for one in asked.decode.scores:
            assert one.chosen == one.best[0]
            assert sorted((rival.logprob for rival in one.best), reverse=True) == [r.logprob for r in one.best]
            assert sum(np.exp(rival.logprob) for rival in one.best) <= 1 + 1e-9
    least = [(asked, min((one.chosen.logprob for one in asked.decode.scores), default=-np.inf)) for asked in again]
    right = [logprob for asked, logprob in least if asked.is_right]
    wrong = [logprob for asked, logprob in least if not asked.is_right]
    assert min(right) > np.log(0.5)
    assert max(wrong) < min(right), "what stale pages say together is never as sure"


def test_asking_changes_neither_replies_nor_times(shared: SharedModel) -> None:
    plain, scored = Stage(shared, variant=BARE), Stage(shared, variant=BARE)
    without, with_scores = twice(plain, shared, None), twice(scored, shared, 2)
    assert plain.digest == scored.digest
    for one, other in zip(without, with_scores, strict=True):
        assert (one.decode.pieces, one.decode.times_ns) == (other.decode.pieces, other.decode.times_ns)
        assert not one.decode.scores
        assert len(other.decode.scores) == len(other.decode.pieces)


def test_no_rivals_is_not_no_scores(shared: SharedModel) -> None:
    stage = Stage(shared, variant=GATED)
    talk = Writer(shared, 3).talk(1_000)
    asked = ask(stage, talk, talk.names[0], 0)
    assert said(asked.decode.scores) == b"".join(asked.decode.pieces)
    assert all(one.best == () for one in asked.decode.scores)
