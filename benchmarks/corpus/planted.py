"""Corrupted replies, in batches: each is a sound one with one known damage.

Owns: how many of each class, and which batch they stand in. Does not own: the damages (`harness/planting/damage`, and
`damage_shown` for what is outside a reply's text). Source: the symptom classes of public reports.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType

import numpy as np

from benchmarks.corpus import damage_shown
from benchmarks.corpus.calls import OWN_TOOLS, own_call
from benchmarks.corpus.case import Batch, Case, sound_turn, streamed
from benchmarks.corpus.clean import BATCH_TURNS, new_sessions
from benchmarks.corpus.prose import any_paragraph
from harness.planting.damage import calls, ends, text
from harness.planting.damage.scene import Damage, Scene
from results.findings import Kind

DAMAGES: Mapping[Kind, Damage] = MappingProxyType(
    {
        Kind.CROSS_TALK: text.cross_talk,
        Kind.EMPTY_REPLY: ends.empty,
        Kind.REPETITION: ends.repetition,
        Kind.TOKEN_SALAD: text.salad,
        Kind.CONTROL_TOKENS: text.control_token,
        Kind.WRONG_FIRST_TOKEN: calls.first_token,
        Kind.MISPLACED_MARKUP: text.markup,
        Kind.LOST_CALL: calls.lost_call,
        Kind.WRONG_CALL: calls.wrong_call,
        Kind.DAMAGED_ARGUMENTS: calls.arguments,
        Kind.WRONG_WORD: damage_shown.wrong_word,
        Kind.HANG: damage_shown.hang,
        Kind.TRANSPORT_ERROR: damage_shown.transport_error,
        Kind.CUT_STREAM: ends.cut_stream,
        Kind.REFUSED: ends.refused,
        Kind.TRUNCATED: ends.truncated,
        Kind.UNPARSED_CALL: damage_shown.unparsed_call,
    }
)


def planted_batches(seed: int, per_class: int) -> Iterator[Batch]:
    """`per_class` damaged replies of every class, in any order. The same seed gives the same replies."""
    rng = np.random.default_rng(seed)
    kinds = [kind for kind in DAMAGES for _ in range(per_class)]
    order = [kinds[int(index)] for index in rng.permutation(len(kinds))]
    while order:
        yield _batch(rng, order)


def _batch(rng: np.random.Generator, order: list[Kind]) -> Batch:
    sessions = new_sessions(rng)
    planted = {
        (session.session, number): own_call(rng, session.secrets)
        for session in sessions
        for number in range(BATCH_TURNS)
    }
    cases = []
    for (session, number), call in planted.items():
        if not order:
            break
        kind = order.pop()
        owner = sessions[session]
        content = any_paragraph(rng, 3)[1] if rng.random() < 0.5 else ""
        others = [other for (place, _), other in planted.items() if place != session]
        other = others[int(rng.integers(len(others)))].expected
        foreign = sessions[(session + 1 + int(rng.integers(len(sessions) - 1))) % len(sessions)].secrets
        scene = Scene(sound_turn(owner, number, call.expected, content=content), other, foreign, _prose)
        damaged = DAMAGES[kind](rng, scene)
        cases.append(Case(streamed(damaged.turn), kind, str(kind), damaged.strength))
    return Batch(OWN_TOOLS, sessions, tuple(cases))


def _prose(rng: np.random.Generator, sentences_max: int) -> str:
    return any_paragraph(rng, sentences_max)[1]
