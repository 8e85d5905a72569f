"""Log-probabilities as the two APIs show them.

Owns: the JSON of both. Does not own: the figures (`kernels.engine`), the frames that carry them.
Floor 5. Source: OpenAI's chat and completions APIs; vLLM's `token_id:N` for clients that compare tokens.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from harness.pair.engines import Candidate, Scores


def chat_logprobs(scores: Sequence[Scores], *, shows_ids: bool) -> dict[str, Any]:
    """One entry for each token, call or text alike."""
    return {
        "content": [
            {**_entry(one.chosen, shows_ids), "top_logprobs": [_entry(rival, shows_ids) for rival in one.best]}
            for one in scores
        ],
        "refusal": None,
    }


def completion_logprobs(scores: Sequence[Scores], offsets: Sequence[int], *, shows_ids: bool) -> dict[str, Any]:
    """offsets: where in the reply each token's text begins, in characters."""
    return {
        "tokens": [_name(one.chosen, shows_ids) for one in scores],
        "token_logprobs": [one.chosen.logprob for one in scores],
        "top_logprobs": [_by_name(one, shows_ids) for one in scores],
        "text_offset": list(offsets),
    }


def _by_name(scores: Scores, shows_ids: bool) -> dict[str, float]:
    named: dict[str, float] = {}
    for rival in (*scores.best, scores.chosen):
        # Two halves of characters look the same as text: the better one of them is told.
        named.setdefault(_name(rival, shows_ids), rival.logprob)
    return named


def _entry(candidate: Candidate, shows_ids: bool) -> dict[str, Any]:
    return {"token": _name(candidate, shows_ids), "logprob": candidate.logprob, "bytes": list(candidate.text)}


def _name(candidate: Candidate, shows_ids: bool) -> str:
    return f"token_id:{candidate.token}" if shows_ids else candidate.text.decode(errors="replace")
