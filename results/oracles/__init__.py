"""The oracles: pure questions about stored turns. `judge.judge_turn` asks them all.

Owns: which oracles there are. Each says OK, VIOLATED or UNKNOWN, and what it cannot judge is never a pass.
Floor 3. Source: ours.
"""

from __future__ import annotations

from results.oracles import (
    control_tokens,
    cross_talk,
    cut_stream,
    empty_reply,
    exact_call,
    exact_word,
    first_token,
    hang,
    markup,
    protocol,
    repetition,
    salad,
    schema,
    stopped_early,
    transport_error,
)

ORACLES = (
    transport_error.ORACLE,
    hang.ORACLE,
    cut_stream.ORACLE,
    stopped_early.ORACLE,
    exact_call.ORACLE,
    exact_word.ORACLE,
    schema.ORACLE,
    cross_talk.ORACLE,
    empty_reply.ORACLE,
    repetition.ORACLE,
    salad.ORACLE,
    control_tokens.ORACLE,
    first_token.ORACLE,
    markup.ORACLE,
    protocol.ORACLE,
)
