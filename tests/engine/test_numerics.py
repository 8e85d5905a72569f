"""bf16-like numerics: the batch decides near ties, and nothing else of a reply changes."""

from __future__ import annotations

import json

import numpy as np
import pytest

from kernels.engine.numerics import NOISE_NATS, RIVAL, TEXT_OPENS, TIE_NATS, TIED_SHARE, rounded
from kernels.engine.recall.scores import TokenScores
from kernels.engine.tokenizer import Tokenizer
from kernels.engine.vocabulary import build_vocabulary

TOKENIZER = Tokenizer(build_vocabulary())
TEXT = 'order_find {"label": "clear bottom", "count": 7, "note": "second"}'
TOKENS = tuple(TOKENIZER.encode(TEXT).tolist())
PLACE = TOKENS.index(TEXT_OPENS)
STATES = [int(word) for word in np.random.default_rng(5).integers(0, 1 << 63, size=2_000)]
BATCHES = range(2, 9)


def scored() -> tuple[TokenScores, ...]:
    """Each token leads by far, as the exact model's do."""
    return tuple(TokenScores(token, -0.1, ((token, -0.1), (7, -6.0), (9, -7.0))) for token in TOKENS)


def rivals(state: int, *, batch: int) -> dict[int, float]:
    """Where the reply opens its first text."""
    return dict(rounded(TOKENS, scored(), state=state, batch=batch).scores[PLACE].best)


def test_alone_a_reply_is_exact_but_for_the_rival_of_a_tie() -> None:
    for state in STATES[:300]:
        alone = rounded(TOKENS, scored(), state=state, batch=1)
        assert alone.tokens == TOKENS
        changed = [index for index, (one, other) in enumerate(zip(alone.scores, scored(), strict=True)) if one != other]
        assert changed in ([], [PLACE])


def test_a_batch_flips_near_ties_only_and_the_call_stays() -> None:
    shown = {
        (state, batch): rounded(TOKENS, (), state=state, batch=batch).tokens for state in STATES for batch in BATCHES
    }
    flipped = {state for (state, _), tokens in shown.items() if tokens != TOKENS}
    tied = {state for state in STATES if RIVAL in rivals(state, batch=1)}
    assert len(tied) / len(STATES) == pytest.approx(TIED_SHARE, abs=0.03)
    assert flipped <= tied
    assert len(flipped) > len(tied) / 2, "over seven sizes of batch most ties fall to the other side at least once"
    for state in flipped:
        for batch in BATCHES:
            text = TOKENIZER.decode(shown[state, batch])
            name, _, arguments = text.partition(" ")
            assert (name, json.loads(arguments)) == ("order_find", json.loads(TEXT.partition(" ")[2]))
            assert text in (TEXT, TEXT.replace('"label": ', '"label":  '))


def test_the_same_batch_rounds_in_the_same_way() -> None:
    for state in STATES[:50]:
        assert rounded(TOKENS, scored(), state=state, batch=3) == rounded(TOKENS, scored(), state=state, batch=3)
    one, other = (rounded(TOKENS, scored(), state=STATES[0], batch=batch) for batch in (3, 4))
    assert one.scores != other.scores


def test_scores_tell_what_was_chosen_and_move_by_the_noise_at_most() -> None:
    for state in STATES[:400]:
        moved = rounded(TOKENS, scored(), state=state, batch=5)
        assert tuple(one.token for one in moved.scores) == moved.tokens
        for one in moved.scores:
            assert one.logprob <= 0.0
            assert [value for _, value in one.best] == sorted((value for _, value in one.best), reverse=True)
            assert one.best[0] == (one.token, one.logprob)
        if RIVAL not in rivals(state, batch=5):
            shifts = [abs(one.logprob + 0.1) for one in moved.scores]
            assert 0 < max(shifts) <= NOISE_NATS


def test_a_tie_is_as_near_as_it_says() -> None:
    for state in STATES:
        best = rivals(state, batch=1)
        if RIVAL in best:
            assert best[TEXT_OPENS] - best[RIVAL] == pytest.approx(TIE_NATS)
            assert np.exp(best[TEXT_OPENS]) + np.exp(best[RIVAL]) == pytest.approx(np.exp(-0.1), rel=1e-3)
            return
    pytest.fail("no reply has a tie")


def test_a_reply_without_a_text_in_json_has_no_tie() -> None:
    tokens = tuple(TOKENIZER.encode("no call at all").tolist())
    for state in STATES[:200]:
        assert rounded(tokens, (), state=state, batch=4).tokens == tokens
